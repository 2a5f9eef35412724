import { apiContender, bareContender, createObjects, newNames, runComparison, type BenchRun } from '../bench-run.ts';
import type { Contender } from '../comparison.ts';
import type { RequestPlan } from '../request-plan.ts';
import { group, writtenModel } from '../sample-post.ts';
import type { Sample } from '../sample.ts';
import type { SqlLoadJob } from '../sql-load.ts';
import { Worker } from '../worker.ts';

/** Creates of new objects, against an express that only parses, and for one connection against the INSERT alone. */
export async function benchCreate(run: BenchRun): Promise<void> {
  await createObjects(run, writtenModel, ['model-of-a-row']);
  const sql = new Worker<SqlLoadJob, Sample>('sql-load.ts');
  try {
    for (const connections of run.options.connections) {
      const load = { connections, plan: (): RequestPlan => ({ type: 'create', model: writtenModel, names: newNames() }) };
      await runComparison(run, `create, c=${connections}`, [
        apiContender(run, 'svc', load),
        ...(connections === 1 ? [await plainInsert(run, sql)] : []),
        bareContender(run, 'bare express, parses only', run.express, load),
      ]);
    }
  } finally {
    sql.stop();
  }
}

/** The same row into a table with the same columns and indexes, in the same PostgreSQL, through the same driver, each committed by itself. */
async function plainInsert({ api, options }: BenchRun, sql: Worker<SqlLoadJob, Sample>): Promise<Contender> {
  const [model] = await api.query(`SELECT id FROM platform.models WHERE api_group = '${group}' AND resource = '${writtenModel.plural}'`);
  const source = `platform.m_${String(model?.['id'])}`;
  const table = 'bench.plain';
  await api.query('CREATE SCHEMA IF NOT EXISTS bench');
  await api.query(`DROP TABLE IF EXISTS ${table}`);
  await api.query(`CREATE TABLE ${table} (LIKE ${source} INCLUDING ALL) WITH (fillfactor = 85)`);
  await api.query(`CREATE TABLE IF NOT EXISTS bench.row AS SELECT * FROM ${source} WHERE name = 'model-of-a-row'`);
  const job = { connection: api.databaseConnection, source: 'bench.row', table, warmUpSeconds: 0.5, seconds: options.seconds, processes: { postmaster: api.postmaster } };
  return { name: 'plain SQL INSERT, autocommit', run: () => sql.run({ ...job, names: newNames() }) };
}
