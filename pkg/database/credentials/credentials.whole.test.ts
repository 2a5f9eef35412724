import { execFileSync } from 'node:child_process';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { startPasswordPostgres } from '../../testenv/password-postgres.ts';
import { Database } from '../database.ts';
import type { DatabaseFailure } from '../database-failure.ts';
import type { EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import type { DatabaseLog } from '../log.ts';

let folder: string;
let postgres: EmbeddedPostgres;
let owner: pg.Client;
let lines: { text: string; reason: string | undefined }[];
let failures: DatabaseFailure[];
let open: Database[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-credentials-'));
  postgres = await startPasswordPostgres(folder, ['app', 'other']);
  owner = new pg.Client(postgres.connection);
  await owner.connect();
  await owner.query(
    "CREATE ROLE app LOGIN PASSWORD 'old'; CREATE ROLE other LOGIN PASSWORD 'another'; CREATE TABLE writes (n integer); GRANT ALL ON writes TO app, other",
  );
});
afterAll(async () => {
  await owner?.end();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  [lines, failures, open] = [[], [], []];
  await owner.query("TRUNCATE writes; ALTER ROLE app LOGIN PASSWORD 'old'");
});
afterEach(async () => {
  for (const database of open) await database.close();
});

const log: DatabaseLog = {
  info: (_details, text) => lines.push({ text, reason: undefined }),
  warn: (details, text) => lines.push({ text, reason: (details as { reason?: string }).reason }),
  error: (_details, text) => lines.push({ text, reason: undefined }),
};
const accepted = 'using the new user and password of the database';
const refused = 'the database refuses the new user and password; the ones before stay in use';
const unusable = 'the new url of the database cannot be used; the one before stays in use';

/** The log lines about credentials. */
function texts(): string[] {
  // The same server, named twice, counts as two hosts.
  return lines.map(({ text }) => text).filter((text) => text !== 'connecting to another host of the database');
}

async function waitForLine(wanted: string): Promise<void> {
  await pollUntil(async () => lines.some(({ text }) => text === wanted));
}

const file = (): string => join(folder, 'url');

function urlOf(user: string, password: string, hosts = 1): string {
  const { host, port } = postgres.connection;
  const list = Array.from({ length: hosts }, () => `${encodeURIComponent(host!)}:${port}`).join(',');
  const target = hosts === 1 ? '' : '?target_session_attrs=read-write';
  return `postgres://${user}:${password}@${list}/${postgres.connection.database}${target}`;
}

/** As an operator or Kubernetes does: the new file takes the place of the old one. */
async function writeUrl(url: string): Promise<void> {
  await writeFile(`${file()}.next`, `${url}\n`);
  await rename(`${file()}.next`, file());
}

async function connect(url: string): Promise<Database> {
  await writeUrl(url);
  const observer = {
    statement: () => {},
    waited: () => {},
    timedOut: () => {},
    failed: (failure: DatabaseFailure) => failures.push(failure),
  };
  const database = await Database.connect({ url, urlFile: file(), log, observer, poolSize: 3 });
  open.push(database);
  return database;
}

/** Writes in a new connection each time, until it is stopped. Returns what was acknowledged, and the errors. */
function startWriting(database: Database): { stop(): Promise<{ acknowledged: number[]; errors: unknown[] }> } {
  const acknowledged: number[] = [];
  const errors: unknown[] = [];
  const stopping = new AbortController();
  let next = 0;
  const write = async (insert: (n: number) => Promise<unknown>): Promise<void> => {
    while (!stopping.signal.aborted) {
      next += 1;
      const n = next;
      await insert(n).then(
        () => acknowledged.push(n),
        (error: unknown) => errors.push(error),
      );
    }
  };
  const inPool = async (n: number): Promise<void> => {
    const client = await database.pool.connect();
    await client.query('INSERT INTO writes VALUES ($1)', [n]).finally(() => client.release(true));
  };
  const alone = async (n: number): Promise<void> => {
    const client = await database.newClient();
    await client.query('INSERT INTO writes VALUES ($1)', [n]);
    await client.end();
  };
  const byQuery = async (n: number): Promise<unknown> => database.pool.query('INSERT INTO writes VALUES ($1)', [n]);
  const writers = [write(inPool), write(inPool), write(byQuery), write(alone)];
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(writers);
      return { acknowledged, errors };
    },
  };
}

describe.each([
  ['one host', 1],
  ['several hosts', 2],
])('with %s', (_reason, hosts) => {
  test('a password is replaced under writes, the file first: no connection is refused, and no write is lost', async () => {
    const database = await connect(urlOf('app', 'old', hosts));
    const writing = startWriting(database);
    try {
      for (const password of ['second', 'third']) {
        lines = [];
        await writeUrl(urlOf('app', password, hosts));
        await waitForLine(refused);
        await owner.query(`ALTER ROLE app PASSWORD '${password}'`);
        await waitForLine(accepted);
        expect(texts()).toEqual([refused, accepted]);
      }
    } finally {
      await writing.stop();
    }
    const { acknowledged, errors } = await writing.stop();
    expect(errors).toEqual([]);
    expect(failures).toEqual([]);
    const { rows } = await owner.query<{ n: number }>('SELECT n FROM writes ORDER BY n');
    expect(rows.map(({ n }) => n)).toEqual(acknowledged.toSorted((a, b) => a - b));
    // Nothing remembers the first password.
    await owner.query("ALTER ROLE app PASSWORD 'old'");
    await expect(database.newClient()).rejects.toMatchObject({ code: '28P01' });
  });

  test('a password is replaced, the role first: connections are refused until the file follows', async () => {
    const database = await connect(urlOf('app', 'old', hosts));
    await owner.query("ALTER ROLE app PASSWORD 'second'");
    await expect(database.newClient()).rejects.toMatchObject({ code: '28P01' });
    expect(failures).toEqual(['connection_refused']);
    await writeUrl(urlOf('app', 'second', hosts));
    await (await database.newClient()).end();
    expect(texts()).toEqual([accepted]);
  });
});

test('another user takes over, and the one before may go', async () => {
  const database = await connect(urlOf('app', 'old'));
  await writeUrl(urlOf('other', 'another'));
  const { rows } = await (await database.newClient()).query<{ user: string }>('SELECT session_user AS user');
  expect(rows).toEqual([{ user: 'other' }]);
  await owner.query('ALTER ROLE app NOLOGIN');
  await (await database.newClient()).end();
  await writeUrl(urlOf('app', 'old'));
  await (await database.newClient()).end();
  expect(texts()).toEqual([accepted, refused]);
});

test.each<[string, () => Promise<void>, RegExp]>([
  ['is absent', () => rm(file()), /ENOENT/],
  ['is empty', () => writeUrl(''), /differs in more than user and password/],
  ['names another database', () => writeUrl(urlOf('app', 'secret-1').replace(/\w+$/, 'another')), /needs a restart/],
  ['names another host', () => writeUrl('postgres://app:secret-1@127.0.61.9/postgres'), /needs a restart/],
  ['has an @ in the password', () => writeUrl(urlOf('app', 'secret-1@x')), /needs a restart/],
  ['is too long', () => writeUrl(urlOf('app', 'x'.repeat(65_536))), /the file has 65\d+ bytes/],
])('a file that %s changes nothing and is logged once', async (_reason, change, reason) => {
  const database = await connect(urlOf('app', 'old'));
  await change();
  for (let i = 0; i < 3; i += 1) await (await database.newClient()).end();
  expect(lines).toEqual([{ text: unusable, reason: expect.stringMatching(reason) }]);
  expect(JSON.stringify(lines)).not.toContain('secret-1');
});

test('a pipe, which was read at the start, is not read again', async () => {
  const database = await connect(urlOf('app', 'old'));
  await rm(file());
  execFileSync('mkfifo', [file()]);
  await (await database.newClient()).end();
  expect(lines).toEqual([]);
  await rm(file());
});
