import type pg from 'pg';
import { databaseFailure } from '#pkg/database/index';
import type { TestCluster } from '../test-cluster.ts';
import type { Fault } from '../fault.ts';
import { pausing } from './pausing.ts';
import { group, notes, things, type SampleModel } from '../../harness/workload/sample-models.ts';

/** The name of a model's table. */
async function tableOf({ postgres }: TestCluster, { plural }: SampleModel): Promise<string> {
  const [row] = await postgres.query<{ id: number }>(
    'SELECT id FROM platform.models WHERE api_group = $1 AND resource = $2',
    [group, plural],
  );
  return `platform.m_${row?.id ?? 0}`;
}

/** The servers may hold the lock that it wants, or change the rows that it waits for: then it holds nothing. */
function ignoreConflict(error: unknown): void {
  const failure = databaseFailure(error);
  if (failure !== 'lock_timeout' && failure !== 'transaction_conflict') throw error;
}

/** A transaction of another client, open until it is healed. */
function held(
  name: string,
  intent: string,
  begin: (session: pg.Client, cluster: TestCluster) => Promise<unknown>,
  holdMs = 3000,
): Fault {
  return {
    name,
    intent,
    holdMs,
    inject: async (cluster) => {
      const session = await cluster.postgres.session(async (client) => {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
        await client.query("SET LOCAL lock_timeout = '5s'");
        await begin(client, cluster).catch(ignoreConflict);
      });
      return async () => {
        try {
          await session.query('ROLLBACK');
        } finally {
          await session.end().catch(() => undefined);
        }
      };
    },
  };
}

export const lockFaults: readonly Fault[] = [
  held('rows-locked', 'A foreign transaction locks the hot rows: other writes continue.', async (session, cluster) => {
    await session.query(`SELECT FROM ${await tableOf(cluster, things)} WHERE name LIKE 'hot-%' FOR UPDATE`);
  }),
  held(
    'revisions-locked',
    'A foreign transaction holds the lock for revisions for longer than a statement waits: writes wait, and are retried.',
    (session) => session.query('SELECT pg_advisory_xact_lock(815)'),
    6500,
  ),
  held(
    'old-snapshot',
    'A foreign transaction keeps an old snapshot: nothing waits for it.',
    (session) => session.query('SELECT count(*) FROM platform.change_log'),
    4000,
  ),
  held(
    'table-locked',
    "A model's table is locked by an administrator's statement: other models continue.",
    async (session, cluster) => {
      await session.query(`LOCK TABLE ${await tableOf(cluster, notes)} IN ACCESS EXCLUSIVE MODE`);
    },
  ),
  {
    name: 'vacuum-full',
    intent: "An administrator rewrites a model's table and the log (VACUUM FULL), over and over.",
    inject: async (cluster) =>
      pausing(500, async () => {
        await cluster.postgres.query(`VACUUM FULL ${await tableOf(cluster, things)}`);
        await cluster.postgres.query('VACUUM FULL platform.change_log');
      }),
  },
  {
    name: 'deadlocks',
    intent:
      'Foreign transactions lock rows and revisions in another order than the servers: PostgreSQL ends one of the two, and the write is retried.',
    holdMs: 3000,
    inject: async (cluster) => {
      const table = await tableOf(cluster, things);
      return pausing(100, () => lockBackwards(cluster, table));
    },
  },
];

/**
 * Takes the revision lock, which servers take last, until they wait for it, and then the rows, which they take first.
 */
async function lockBackwards({ postgres }: TestCluster, table: string): Promise<void> {
  const session = await postgres.connect();
  try {
    await session.query('BEGIN');
    await session.query("SET LOCAL lock_timeout = '2s'");
    await session.query('SELECT pg_advisory_xact_lock(815), pg_sleep(0.1)');
    await session.query(`SELECT FROM ${table} ORDER BY name DESC FOR UPDATE`);
    await session.query('COMMIT');
  } finally {
    await session.end().catch(() => undefined);
  }
}
