import { targetOf, type BenchRun } from '../bench-run.ts';
import { forgetPeak, readMemory, readPeak } from '../../test/system/harness/process/process-usage.ts';
import { modelOfSize, pathOf } from '../sample-post.ts';
import { number } from '../../test/system/harness/run/table.ts';
import { readAsStream, readInChunks, type WholeList } from '../load/whole-list.ts';

/** The limits of kubectl, and of a client in a hurry. */
const limits = [500, 5000];

/** Lists everything in the largest model, in chunks and as one stream: objects/s, and the server's memory. */
export async function benchWholeList(run: BenchRun): Promise<void> {
  const { api, options } = run;
  const path = pathOf(modelOfSize(options.sizes.at(-1)!));
  const { processes } = targetOf(run, api);
  for (const limit of limits)
    await report(run, `list everything, limit=${limit} and continue, c=1`, () =>
      readInChunks(api, path, { limit, processes }),
    );
  await report(run, 'list everything, one answer, c=1', () => readAsStream(api, path, { processes }));
}

async function report(run: BenchRun, scenario: string, read: () => Promise<WholeList>): Promise<void> {
  const { api, options } = run;
  const before = readMemory({ server: api.pid }).server;
  forgetPeak(api.pid);
  const { objects, bytes, chunks } = await read();
  const expected = options.sizes.at(-1)!;
  const each = (ms: number): number => (ms * chunks.requests) / objects;
  run.report.figure({
    scenario,
    who: `svc, of ${expected} objects`,
    perSecond: objects / chunks.seconds,
    unit: 'objects',
    p50: chunks.p50,
    p99: chunks.p99,
    cpu: { server: each(chunks.cpu.server), postgres: each(chunks.cpu.postgres), loader: each(chunks.cpu.loader) },
    note: `an object; ${number(bytes / 1e6 / chunks.seconds)} MB/s; server ${number(before)} MB before, ${number(readPeak(api.pid))} MB at most`,
  });
  if (objects !== expected) run.report.fail(`${scenario}: ${objects} objects arrived of ${expected}`);
}
