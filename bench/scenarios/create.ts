import { apiContender, bareContender, createObjects, newNames, runComparison, type BenchRun } from '../bench-run.ts';
import type { Contender } from '../report/comparison.ts';
import { ratioGoal } from '../report/goals.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { group, limitedModel, unauditedModel, unlimitedModel, writtenModel } from '../sample-post.ts';
import type { Sample } from '../report/sample.ts';
import type { SqlLoadJob } from '../load/sql-load.ts';
import { fillFactor } from '../../pkg/storage/postgres/table/table.ts';
import { WorkerProcess } from '../../test/system/harness/process/worker-process.ts';
import { retryUntilTrue } from '../../test/system/harness/retry-until-true.ts';

const parsing = 'bare express, parses only';
const unkeyed = 'svc, without a key';
const rowAlone = 'plain SQL, the row';
const rowAndLog = 'plain SQL, row and log';
const unaudited = 'svc, without audit';
/** The row of the audit log, with its event. */
const shareOfUnaudited = 0.9;
const unlimited = 'svc, without a quota';
/** Usage is counted, and compared with the quota, in the same statement. */
const shareOfUnlimited = 0.95;
/** A single client's create may take 1.5 times as long as the INSERT. */
const shareOfSql = 0.67;
/** A key costs a lookup of an earlier outcome and a row, not the place in a batch. */
const shareOfUnkeyed = 0.5;

/**
 * Creates of new objects, compared with an express that only parses, and with PostgreSQL clients that insert directly.
 */
export async function benchCreate(run: BenchRun): Promise<void> {
  const sql = new WorkerProcess<SqlLoadJob, Sample>(new URL('../load/sql-load.ts', import.meta.url));
  try {
    const inserts = await prepareInserts(run, sql);
    await limitObjects(run);
    for (const connections of run.options.connections) {
      const load = {
        connections,
        plan: (): RequestPlan => ({ type: 'create', model: writtenModel, names: newNames() }),
      };
      const compared = await runComparison(run, `create, c=${connections}`, [
        apiContender(run, 'svc', load),
        ...inserts(connections),
        bareContender(run, parsing, run.express, load),
      ]);
      if (connections > 1) ratioGoal(run.report, `create, c=${connections}`, compared, { to: parsing, atLeast: 0.5 });
      else
        for (const to of [rowAlone, rowAndLog])
          ratioGoal(run.report, 'create, c=1', compared, { to, atLeast: shareOfSql });
      const audited = await runComparison(run, `create with audit, c=${connections}`, [
        apiContender(run, 'svc', load),
        apiContender(run, unaudited, {
          connections,
          plan: (): RequestPlan => ({ type: 'create', model: unauditedModel, names: newNames() }),
        }),
      ]);
      ratioGoal(run.report, `create with audit, c=${connections}`, audited, {
        to: unaudited,
        atLeast: shareOfUnaudited,
      });
      const [limited, free] = [limitedModel, unlimitedModel].map((model) => ({
        connections,
        plan: (): RequestPlan => ({ type: 'create', model, names: newNames() }),
      }));
      const quotas = await runComparison(run, `create within a quota, c=${connections}`, [
        apiContender(run, 'svc', limited!),
        apiContender(run, unlimited, free!),
      ]);
      ratioGoal(run.report, `create within a quota, c=${connections}`, quotas, {
        to: unlimited,
        atLeast: shareOfUnlimited,
      });
      const keyed = await runComparison(run, `create with an Idempotency-Key, c=${connections}`, [
        apiContender(run, 'svc', {
          connections,
          plan: (): RequestPlan => ({ type: 'create', model: writtenModel, names: newNames(), keyed: true }),
        }),
        apiContender(run, unkeyed, load),
      ]);
      if (connections > 1)
        ratioGoal(run.report, `create with an Idempotency-Key, c=${connections}`, keyed, {
          to: unkeyed,
          atLeast: shareOfUnkeyed,
        });
    }
  } finally {
    sql.stop();
  }
}

/** A quota that no run reaches. Resolves when it is in force. */
async function limitObjects({ api }: BenchRun): Promise<void> {
  const path = '/api/v1/namespaces/default/resourcequotas';
  const resource = `${limitedModel.plural}.${group}`;
  await api.fetch(path, {
    method: 'POST',
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'bench' },
      spec: { hard: { [`count/${resource}`]: '1G', [`bytes/${resource}`]: '1Ti' } },
    }),
  });
  await retryUntilTrue(async () => (await api.fetch(`${path}/bench`)).includes('"reason":"Counted"'), {
    what: 'the quota is in force',
    timeoutMs: 30_000,
  });
}

/**
 * Inserts the same row into a table with the same columns and indexes, in the same PostgreSQL with the same driver, one
 * commit each; and the same with a row in a copy of the change log, the minimum for a server with watchers. Neither
 * validates, orders revisions, or notifies.
 */
async function prepareInserts(
  { api, database, options }: BenchRun,
  sql: WorkerProcess<SqlLoadJob, Sample>,
): Promise<(connections: number) => Contender[]> {
  await createObjects(api, writtenModel, ['model-of-a-row']);
  const [model] = await database.query(
    `SELECT id FROM platform.models WHERE api_group = '${group}' AND resource = '${writtenModel.plural}'`,
  );
  const source = `platform.m_${String(model?.['id'])}`;
  await database.query(
    `CREATE SCHEMA bench;
     CREATE TABLE bench.plain (LIKE ${source} INCLUDING ALL) WITH (fillfactor = ${fillFactor});
     CREATE TABLE bench.logged (LIKE ${source} INCLUDING ALL) WITH (fillfactor = ${fillFactor});
     CREATE TABLE bench.log (LIKE platform.change_log INCLUDING ALL);
     CREATE SEQUENCE bench.revision;
     CREATE TABLE bench.row AS SELECT * FROM ${source} WHERE name = 'model-of-a-row'`,
  );
  const { warmUpSeconds, seconds } = options;
  const job = {
    connection: database.connection,
    source: 'bench.row',
    warmUpSeconds,
    seconds,
    processes: { postmaster: database.postmaster },
  };
  return (connections) => [
    { name: rowAlone, run: () => sql.run({ ...job, connections, table: 'bench.plain', names: newNames() }) },
    {
      name: rowAndLog,
      run: () =>
        sql.run({
          ...job,
          connections,
          table: 'bench.logged',
          log: { table: 'bench.log', sequence: 'bench.revision' },
          names: newNames(),
        }),
    },
  ];
}
