import { mkdtemp, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { defineModel, startServer } from '../../server/bench-server.ts';
import type { ApiServer } from '../../../test/system/harness/process/api-server.ts';
import { forgetPeak, readMemory, readPeak } from '../../../test/system/harness/process/process-usage.ts';
import type { RequestPlan } from '../../load/request-plan.ts';
import { definitionOf, groupSize, modelOfSize, pathOf, postText, selections } from '../../sample-post.ts';
import { number } from '../../../test/system/harness/run/table.ts';
import { load, type CapacityRun } from '../capacity-run.ts';
import { fillTable } from '../fill-table.ts';
import { tableOf, tableSizes, walBytes } from '../table-sizes.ts';
import { runProgram } from '../../../test/system/harness/process/server-process.ts';

const variants = 50;
const indexTimeoutMs = 3_600_000;

/**
 * One model with very many objects: measures operations that slow down with their number, and those that should not.
 */
export async function measureMany(run: CapacityRun): Promise<void> {
  const { api: empty, database, options, report } = run;
  const { objects } = options;
  const model = modelOfSize(objects);
  const path = pathOf(model);
  await defineModel(empty, model);
  await empty.fetch(path, { method: 'POST', body: postText(model, { name: 'post-0', number: 0, title: 'A morning' }) });
  await empty.stop();

  const rows: string[][] = [['work', 'seconds', 'objects/s', "bytes of PostgreSQL's log, an object"]];
  const timed = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const begin = performance.now();
    const wal = await walBytes(database, work);
    const seconds = (performance.now() - begin) / 1000;
    rows.push([name, number(seconds), number(objects / seconds), number(wal / objects)]);
  };
  await timed('rows made with all their indexes, by PostgreSQL alone', () =>
    fillTable(database, model.plural, objects),
  );
  const { table } = await tableOf(database, model.plural);
  await timed('the first VACUUM (ANALYZE)', () => database.query(`VACUUM (ANALYZE) ${table}`));
  const { heap, toast, indexes } = await tableSizes(database, model.plural);
  const bytes = heap + toast + indexes.reduce((sum, index) => sum + index.bytes, 0);

  const api = await startServer({ database });
  try {
    report.line(
      `\n${objects} objects: ${number(bytes / 1e6)} MB, ${number(bytes / objects)} bytes each (${number(heap / objects)} the row, ${number((bytes - heap - toast) / objects)} its ${indexes.length} indexes); svc from start to ready ${number(api.startMs)} ms`,
    );
    report.table(`Bytes an object of each index, ${objects} objects`, [
      ['index', 'bytes'],
      ...indexes.map((index) => [index.columns, number(index.bytes / objects)]),
    ]);
    await measureRequests(run, api, path);
    await timed('an index more, through the API, until lists may use it', () => addIndex(api, model, path));
    await timed('VACUUM (FREEZE)', () => database.query(`VACUUM (FREEZE) ${table}`));
    await timed('REINDEX of all indexes', () => database.query(`REINDEX TABLE CONCURRENTLY ${table}`));
    const file = join(await mkdtemp(join(database.folder, 'backup-')), 'all.backup');
    if (await backUpIsThere()) await timed('svc backup', () => backUp(database.url(), file));
    report.table(`Work on ${objects} objects`, rows);
    const backup = await stat(file).catch(() => undefined);
    if (backup !== undefined)
      report.line(
        `\nThe backup has ${number(backup.size / 1e6)} MB, ${number(backup.size / objects)} bytes an object.`,
      );
  } finally {
    await api.stop();
  }
}

async function backUpIsThere(): Promise<boolean> {
  const command = new URL('../../../dist/cmd/svc/commands/backup/backup-command.js', import.meta.url);
  return stat(command).then(
    () => true,
    () => false,
  );
}

async function measureRequests(run: CapacityRun, api: ApiServer, path: string): Promise<void> {
  const { options, report, database } = run;
  const { objects } = options;
  await delay(options.isQuick ? 0 : 3000);
  const atRest = readMemory({ server: api.pid }).server;
  forgetPeak(api.pid);
  const numbers = Array.from({ length: variants }, (_, i) => Math.floor((i * objects) / variants));
  const page = `page=1&size=${groupSize}`;
  const ofShare = (share: number, by: string): string[] =>
    selections
      .find((each) => each.share === share && each.by === by)!
      .selectors.map((selector) => `${path}?${selector}&sort=spec.priority,desc&${page}`);
  const get = (paths: string[]): RequestPlan => ({ type: 'get', paths });
  const scenarios: { name: string; atATime: number; plan: RequestPlan }[] = [
    { name: 'GET', atATime: 64, plan: get(numbers.map((i) => `${path}/post-${i}`)) },
    { name: 'GET', atATime: 1, plan: get(numbers.map((i) => `${path}/post-${i}`)) },
    { name: 'the first 20, sorted, with total', atATime: 1, plan: get([`${path}?sort=spec.priority,desc&${page}`]) },
    {
      name: '20 matches of a label, with total',
      atATime: 1,
      plan: get(
        numbers.map(
          (i) => `${path}?labelSelector=batch%3Db-${Math.floor(i / groupSize)}&sort=spec.priority,desc&${page}`,
        ),
      ),
    },
    {
      name: '20 matches of a field, with total',
      atATime: 1,
      plan: get(
        numbers.map(
          (i) => `${path}?fieldSelector=spec.category%3Dc-${Math.floor(i / groupSize)}&sort=spec.priority,desc&${page}`,
        ),
      ),
    },
    { name: '20 of the 2 % with a label, with total', atATime: 1, plan: get(ofShare(0.02, 'label')) },
    { name: '20 of the 2 % with a value, with total', atATime: 1, plan: get(ofShare(0.02, 'field')) },
    { name: '20 of 30 %, by a label', atATime: 1, plan: get(ofShare(0.3, 'label')) },
    { name: 'a chunk of 500', atATime: 1, plan: get([`${path}?limit=500`]) },
    { name: 'create', atATime: 64, plan: { type: 'create', model: modelOfSize(objects), names: 'new' } },
    { name: 'create', atATime: 1, plan: { type: 'create', model: modelOfSize(objects), names: 'newer' } },
  ];
  const rows: string[][] = [['request', 'at a time', 'requests/s', 'p50 / p99 ms', 'CPU µs: svc, PostgreSQL']];
  for (const { name, atATime, plan } of scenarios) {
    const { requests, seconds, p50, p99, cpu } = await load(run, { api, connections: atATime, plan });
    rows.push([
      name,
      String(atATime),
      number(requests / seconds),
      `${number(p50)} / ${number(p99)}`,
      `${number(cpu.server * 1000)}, ${number(cpu.postgres * 1000)}`,
    ]);
  }
  report.table(`Requests to a model of ${objects} objects`, rows);
  const { postgres } = readMemory({ postmaster: database.postmaster });
  report.line(
    `\nsvc: ${number(atRest)} MB at rest, ${number(readPeak(api.pid))} MB at most meanwhile; PostgreSQL ${number(postgres)} MB`,
  );
}

/** Resolves when a list can use it. */
async function addIndex(api: ApiServer, model: ReturnType<typeof modelOfSize>, path: string): Promise<void> {
  const definition = definitionOf(model) as { metadata: { name: string }; spec: { versions: { indexes: object[] }[] } };
  const indexes = [...definition.spec.versions[0]!.indexes, { name: 'spec.title', path: 'spec.title', type: 'string' }];
  const body = JSON.stringify([{ op: 'replace', path: '/spec/versions/0/indexes', value: indexes }]);
  const definitionPath = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.metadata.name}`;
  await api.fetch(definitionPath, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/json-patch+json' },
    body,
  });
  for (const deadline = performance.now() + indexTimeoutMs; ; await delay(100)) {
    const isServed = await api.fetch(`${path}?fieldSelector=spec.title%3Dnone&limit=1`).then(
      () => true,
      () => false,
    );
    if (isServed) return;
    if (performance.now() > deadline) throw new Error('the index is not served');
  }
}

/** Runs `svc backup` of a database into a file. Throws with its output on failure. */
async function backUp(url: string, file: string): Promise<void> {
  const folder = dirname(file);
  const args = ['--to', file, `--svc.database.url=${url}`, `--svc.data.dir=${folder}`];
  await runProgram({ command: 'backup', args, folder });
}
