import { apiContender, runComparison, targetOf, type BenchRun } from '../bench-run.ts';
import { boundGoal } from '../report/goals.ts';
import { HttpConnection } from '../load/http-connection.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { modelOfSize, pathOf, selections } from '../sample-post.ts';
import { SampleRecorder } from '../report/sample.ts';

const size = 20;
const manyConnections = 16;
const sort = 'sort=spec.publishedAt,desc';
/** The server's `svc.api.exact-total-limit`. */
const exactTotalLimit = 10_000;

/** Selectors with many matches, with their total, and late pages, of the largest model. */
export async function benchBroadList(run: BenchRun): Promise<void> {
  const objects = run.options.sizes.at(-1)!;
  for (const { share, by, selectors } of selections) {
    const name = `list 20 of ${share * 100} % by ${by}, with total`;
    const queries = selectors.map((selector) => `${selector}&${sort}&page=1&size=${size}`);
    const first = await askOnce(run, `${name}, each asked for the first time, c=1`, queries, objects * share);
    await repeat(run, `${name}, c=${manyConnections}`, queries, manyConnections);
    const again = await repeat(run, `${name}, c=1`, queries, 1);
    boundGoal(run.report, `${name}, of ${objects}, median, the first time`, { value: first, under: 50, unit: 'ms' });
    boundGoal(run.report, `${name}, of ${objects}, median`, { value: again, under: 50, unit: 'ms' });
  }
  const middle = Math.floor(objects / size / 2);
  const deep = Math.min(100, Math.floor(middle * 0.3));
  const pages = (query: string, page: number): string[] =>
    Array.from({ length: 10 }, (_, i) => `${query}&sort=spec.priority&page=${page + i}&size=${size}`);
  await repeat(run, `list 20, page ${middle} of all, c=1`, pages('', middle), 1);
  await repeat(run, `list 20, page ${deep} of 30 %, c=1`, pages(selections[2]!.selectors[0]!, deep), 1);
}

/** Requests that no earlier response can speed up; also checks the results. Returns the median in milliseconds. */
async function askOnce(run: BenchRun, scenario: string, queries: readonly string[], expected: number): Promise<number> {
  const { api, options, report } = run;
  const objects = options.sizes.at(-1)!;
  const connection = await HttpConnection.open(api.port);
  const recorder = new SampleRecorder(targetOf(run, api).processes);
  recorder.open();
  try {
    for (const query of queries) {
      const sentAt = performance.now();
      const { body } = await connection.request(
        `GET ${pathOf(modelOfSize(objects))}?${query} HTTP/1.1\r\nHost: 127.0.0.1\r\n${api.authorization}\r\n\r\n`,
      );
      recorder.add(performance.now() - sentAt);
      const { items, total } = JSON.parse(body.toString()) as { items?: unknown[]; total?: number };
      if (items?.length !== size || total !== Math.min(expected, exactTotalLimit))
        recorder.fail(`${query} finds ${total}, not ${expected}`);
    }
  } finally {
    connection.close();
  }
  const sample = recorder.close();
  report.compared(scenario, [{ name: `svc, of ${objects} objects`, sample }]);
  return sample.p50;
}

/** Returns the median in milliseconds. */
async function repeat(
  run: BenchRun,
  scenario: string,
  queries: readonly string[],
  connections: number,
): Promise<number> {
  const objects = run.options.sizes.at(-1)!;
  const paths = queries.map((query) => `${pathOf(modelOfSize(objects))}?${query}`);
  const plan = (): RequestPlan => ({ type: 'get', paths });
  const [svc] = await runComparison(run, scenario, [
    apiContender(run, `svc, of ${objects} objects`, { connections, plan }),
  ]);
  return svc!.sample.p50;
}
