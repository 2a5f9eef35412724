import { defineModel, startServer } from '../server/bench-server.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiServer } from '../../test/system/harness/process/api-server.ts';
import { apiContender, createObjects, runComparison, type BenchRun } from '../bench-run.ts';
import { readMemory } from '../../test/system/harness/process/process-usage.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { definitionOf, group, pathOf, type SampleModel } from '../sample-post.ts';
import { quantile } from '../report/sample.ts';
import { number } from '../../test/system/harness/run/table.ts';

const database = 'many_models';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Definitions posted concurrently. */
const posters = 4;
const starts = 3;
const restMs = 3000;
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const documents: { name: string; path: string; headers?: Record<string, string> }[] = [
  { name: 'discovery of the group', path: `/apis/${group}/v1` },
  { name: 'aggregated discovery', path: '/apis', headers: { Accept: aggregated } },
  { name: 'OpenAPI v3 of the group', path: `/openapi/v3/apis/${group}/v1` },
  { name: 'OpenAPI v3, the index', path: '/openapi/v3' },
];

/** The cost of a thousand models: defining them, starting with them, keeping them, and reading one of them. */
export async function benchModels(run: BenchRun): Promise<void> {
  const { options } = run;
  await run.database.create(database);
  const models = Array.from({ length: options.models }, (_, i): SampleModel => ({
    plural: `posts-m${i}`,
    kind: `PostM${i}`,
  }));
  let many = await startServer({ database: run.database, databaseName: database });
  try {
    await defineModel(many, models[0]!);
    await many.stop();
    many = await benchStart(run, 1);
    await benchDefining(run, many, models);
    await many.stop();
    many = await benchStart(run, models.length);
    await benchReading(run, many, models);
    await many.stop();
    many = await startServer({
      database: run.database,
      databaseName: database,
      preload: new URL('../../test/system/harness/process/turn-meter.mjs', import.meta.url),
    });
    await benchDocuments(run, many);
  } finally {
    await many.stop();
  }
}

/** Returns the last server that it started. */
async function benchStart({ database: postgres, report, options }: BenchRun, models: number): Promise<ApiServer> {
  const times: number[] = [];
  let api: ApiServer | undefined;
  for (let i = 0; i < (options.isQuick ? 1 : starts); i += 1) {
    await api?.stop();
    api = await startServer({ database: postgres, databaseName: database });
    times.push(api.startMs);
  }
  const sorted = times.toSorted((a, b) => a - b);
  await delay(options.isQuick ? 0 : restMs);
  const { server } = readMemory({ server: api!.pid });
  report.figure({
    scenario: `models, ${models}`,
    who: 'svc, from start to ready',
    note: `${number(quantile(sorted, 0.5))} ms, the slowest ${number(sorted.at(-1)!)} ms; ${number(server)} MB at rest`,
  });
  return api!;
}

async function benchDefining({ report }: BenchRun, api: ApiServer, [, ...models]: SampleModel[]): Promise<void> {
  const times: number[] = [];
  const waiting = models.values();
  const begin = performance.now();
  const post = async (): Promise<void> => {
    for (const model of waiting) {
      const sentAt = performance.now();
      await api.fetch(definitions, { method: 'POST', body: JSON.stringify(definitionOf(model)) });
      await api.untilServed(`${pathOf(model)}?limit=1`);
      times.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: posters }, post));
  const sorted = times.toSorted((a, b) => a - b);
  const perSecond = models.length / ((performance.now() - begin) / 1000);
  report.figure({
    scenario: `models, defining ${models.length} more, c=${posters}`,
    who: 'svc, until each is served',
    perSecond,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
  });
}

/** Reads from the only model of one database, from one of many, and from each of many in turn. */
async function benchReading(run: BenchRun, many: ApiServer, models: readonly SampleModel[]): Promise<void> {
  const [first] = models;
  for (const model of models) await createObjects(many, model, ['post-0']);
  const load = (chosen: readonly SampleModel[]): { connections: number; plan: () => RequestPlan; api: ApiServer } => ({
    connections: Math.max(...run.options.connections),
    plan: () => ({ type: 'get', paths: chosen.map((model) => `${pathOf(model)}/post-0`) }),
    api: many,
  });
  await run.database.create('one_model');
  const one = await startServer({ database: run.database, databaseName: 'one_model' });
  try {
    await defineModel(one, first!);
    await createObjects(one, first!, ['post-0']);
    await runComparison(run, `GET one object, c=${load([]).connections}, of ${models.length} models`, [
      apiContender(run, 'svc, one of them', load([first!])),
      apiContender(run, 'svc, all of them in turn', load(models)),
      apiContender(run, 'svc, with one model alone', { ...load([first!]), api: one }),
    ]);
  } finally {
    await one.stop();
  }
}

/** The first response, which must be built, and the next ones. */
async function benchDocuments({ report, options }: BenchRun, api: ApiServer): Promise<void> {
  for (const { name, path, headers } of documents) {
    const times: number[] = [];
    await api.process.ask('begin');
    let size = 0;
    for (let i = 0; i < 2; i += 1) {
      const sentAt = performance.now();
      size = (await api.fetch(path, headers === undefined ? {} : { headers })).length;
      times.push(performance.now() - sentAt);
    }
    const { cpuMs } = await api.process.ask<{ cpuMs: number }>('end');
    report.figure({
      scenario: `models, ${options.models}`,
      who: name,
      note: `${number(times[0]!)} ms, again ${number(times[1]!)} ms; ${number(size / 1e6)} MB; longest turn of the event loop ${number(cpuMs)} ms`,
    });
  }
}
