import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { newPersonalToken } from '#pkg/identity/index';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { StreamingStandby } from '../../../pkg/testenv/streaming-standby.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';

const namespaces = '/api/v1/namespaces';
const tokens = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
const adminToken = newPersonalToken();
const timeoutMs = 60_000;

let folder: string;
let servers: StreamingStandby;
/** Reads from the primary. */
let writing: string;
/** Reads from the standby. */
let reading: string;

const urlOf = (connection: pg.ClientConfig): string => databaseUrlOf({ connection, name: String(connection.database) });

function apiserver(name: string, args: readonly string[]): Program {
  return new Program([
    'apiserver',
    '--svc.server.port=0',
    `--svc.data.dir=${join(folder, name)}`,
    `--svc.database.url=${urlOf(servers.primary)}`,
    `--svc.security.initial-admin-token=${adminToken}`,
    ...args,
  ]);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-reads-'));
  servers = await StreamingStandby.start();
  writing = String((await apiserver('writing', []).line('ready'))['url']);
  const reads = `--svc.database.read-url=${urlOf(servers.standby)}`;
  reading = String((await apiserver('reading', [reads]).line('ready'))['url']);
});
afterAll(async () => {
  await killPrograms();
  await servers?.stop();
  await rm(folder, { recursive: true, force: true });
});

function request(url: string, { method = 'GET', body, token = adminToken }: RequestParts = {}): Promise<Response> {
  return fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

interface RequestParts {
  method?: string;
  body?: object;
  token?: string;
}

const namespace = (name: string): object => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

async function create(at: string, name: string): Promise<number> {
  const answer = await request(`${at}${namespaces}`, { method: 'POST', body: namespace(name) });
  expect(answer.status).toBe(201);
  return Number(((await answer.json()) as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
}

async function statusOf(url: string, token?: string): Promise<number> {
  const answer = await request(url, token === undefined ? {} : { token });
  await answer.text();
  return answer.status;
}

test('a server that reads from a standby shows what others have just written, and follows it', async () => {
  const { body } = await request(`${reading}${namespaces}?watch=true&allowWatchBookmarks=true&timeoutSeconds=20`);
  const lines = createInterface({ input: Readable.fromWeb(body as never) })[Symbol.asyncIterator]();
  for (let i = 0; i < 10; i += 1) {
    const revision = await create(i % 2 === 0 ? writing : reading, `team-${i}`);
    expect(await statusOf(`${reading}${namespaces}/team-${i}`)).toBe(200);
    const newest = `${reading}${namespaces}?resourceVersion=${revision}&resourceVersionMatch=NotOlderThan`;
    const list = (await (await request(newest)).json()) as { items: { metadata: { name: string } }[] };
    expect(list.items.map(({ metadata }) => metadata.name)).toContain(`team-${i}`);
  }
  const seen: string[] = [];
  while (!seen.includes('team-9')) {
    const { value } = await lines.next();
    const { type, object } = JSON.parse(String(value)) as { type: string; object: { metadata: { name: string } } };
    if (type === 'ADDED') seen.push(object.metadata.name);
  }
  expect(seen.filter((name) => name.startsWith('team-'))).toEqual(Array.from({ length: 10 }, (_, i) => `team-${i}`));
});

test('a revoked token is refused at once', async () => {
  const made = await request(`${writing}${tokens}`, {
    method: 'POST',
    body: { metadata: { name: 'short' }, spec: {} },
  });
  const { metadata, status } = (await made.json()) as { metadata: { name: string }; status: { token: string } };
  for (let i = 0; i < 3; i += 1) expect(await statusOf(`${reading}${namespaces}`, status.token)).toBe(200);
  const revoked = await request(`${writing}${tokens}/${metadata.name}/actions/revocation`, { method: 'PUT' });
  expect(revoked.status).toBe(200);
  expect(await statusOf(`${reading}${namespaces}`, status.token)).toBe(401);
});

test('a standby that is paused makes the server unready, and only its reads 503', async () => {
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await request(`${reading}/metrics`)).text())?.[1]);
  const ready = async (at: string): Promise<string> => (await fetch(`${at}/readyz?verbose`)).text();
  expect(await ready(reading)).toContain('[+]standby ok');
  expect(await ready(writing)).not.toContain('standby');
  expect(await metric('svc_standby_lag_seconds')).toBeLessThan(5);
  const operator = new pg.Client(servers.standby);
  await operator.connect();
  await operator.query('SELECT pg_wal_replay_pause()');
  try {
    await create(reading, 'while-paused');
    const answer = await request(`${reading}${namespaces}/while-paused`);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toMatchObject({
      message: 'the standby that answers reads is behind the primary database: its replay is paused',
    });
    expect(await statusOf(`${writing}${namespaces}/while-paused`)).toBe(200);
    await pollUntil(async () => (await ready(reading)).includes('[-]standby'), timeoutMs, 'the check to fail');
    expect(await metric('svc_standby_refusals_total')).toBeGreaterThan(0);
  } finally {
    await operator.query('SELECT pg_wal_replay_resume()');
    await operator.end();
  }
  await pollUntil(async () => (await fetch(`${reading}/readyz`)).ok, timeoutMs, 'the server to be ready');
  expect(await statusOf(`${reading}${namespaces}/while-paused`)).toBe(200);
});

test('a server starts and writes without its standby, and refuses reads', async () => {
  const alone = apiserver('alone', ['--svc.database.read-url=postgres://svc@127.0.0.1:1/svc']);
  const url = String((await alone.line('ready'))['url']);
  await create(url, 'without-standby');
  const answer = await request(`${url}${namespaces}/without-standby`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ message: expect.stringMatching(/^no read from the standby: /) });
});

test('a URL of the standby that cannot be read ends the start with a sentence', async () => {
  const program = apiserver('wrong', ['--svc.database.read-url=postgres://svc:p@ss/word@127.0.0.1:1/svc']);
  expect(await program.exited).toBe(1);
  expect(program.stderr).toMatch(/svc\.database\.read-url: The database url has an @ in the wrong place/);
});
