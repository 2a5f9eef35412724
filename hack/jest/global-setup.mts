import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EmbeddedPostgres } from '../../pkg/database/embedded/embedded-postgres.ts';
import type { DatabaseLog } from '../../pkg/database/log.ts';
import { removeAbandoned } from './abandoned-database.ts';
import { processorSlowness } from './processor-slowness.ts';

const folderPrefix = 'svc-jest-';
const guardFile = fileURLToPath(new URL('database-guard.ts', import.meta.url));

/** More than the databases of a run use at once. */
const roomBytes = 4 * 1024 ** 3;

const log: DatabaseLog = {
  info: () => {},
  warn: (details, message) => process.stderr.write(`${message} ${JSON.stringify(details)}\n`),
  error: (details, message) => process.stderr.write(`${message} ${JSON.stringify(details)}\n`),
};

/**
 * Starts one PostgreSQL for all test files of a run; SVC_TEST_DATABASE has its connection, as JSON. SVC_TEST_RUN says
 * that no other run uses it. SVC_TEST_DATABASE_URL names another server to use instead; its user must be allowed to
 * create databases.
 */
export default async function globalSetup(): Promise<void> {
  process.env['SVC_TEST_SLOWNESS'] = String(processorSlowness());
  const url = process.env['SVC_TEST_DATABASE_URL'];
  if (url !== undefined && url !== '') {
    process.env['SVC_TEST_DATABASE'] = JSON.stringify({ connectionString: url });
    return;
  }
  const folder = await databaseFolder();
  await removeAbandoned(folder, folderPrefix);
  const dataDir = await mkdtemp(join(folder, folderPrefix));
  // mkdtemp creates it with 0700, and PostgreSQL's user must be able to enter if we are root.
  if (process.getuid?.() === 0) await chmod(dataDir, 0o711);
  const stopGuard = startGuard(dataDir);
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    wal_level: 'minimal',
    max_wal_senders: '0',
    max_connections: '300',
    max_wal_size: '256MB',
    // Dropping a database searches all buffers.
    shared_buffers: '128MB',
    // Statements of tests are too short to gain from it.
    jit: 'off',
    // Databases live for seconds.
    autovacuum: 'off',
  };
  const server = await EmbeddedPostgres.start({ dataDir, log, settings });
  process.env['SVC_TEST_DATABASE'] = JSON.stringify(server.connection);
  process.env['SVC_TEST_RUN'] = String(process.pid);
  stopTestDatabase = async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
    stopGuard();
  };
}

/** Of the run's PostgreSQL, where it is ours. */
export let stopTestDatabase: (() => Promise<void>) | undefined;

/** In memory where there is room: every test file makes a database of a thousand files, and removes it. */
async function databaseFolder(): Promise<string> {
  const memory = await statfs('/dev/shm').catch(() => undefined);
  if (memory !== undefined && memory.bavail * memory.bsize > roomBytes) return '/dev/shm';
  // PostgreSQL's user could not read a temporary folder of root.
  return process.getuid?.() === 0 ? '/tmp' : tmpdir();
}

/**
 * Removes the database if this process is killed; in its own session, because Ctrl-C reaches all processes of ours. The
 * returned function ends it.
 */
function startGuard(dataDir: string): () => void {
  const guard = spawn(process.execPath, ['--import', 'tsx', guardFile, dataDir], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', (error) =>
    process.stderr.write(`The database of an interrupted run would stay behind: ${error.message}\n`),
  );
  guard.unref();
  return () => guard.stdin.end();
}
