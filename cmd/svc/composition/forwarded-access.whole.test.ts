import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newPersonalToken } from '#pkg/identity/index';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';
import { ask, describeOneOrigin, forgedProofs, logIn, oneOriginOptions } from './origintest/one-origin-cases.ts';
import { startServedPlatform, type ServedPlatform } from './platform/start-test-platform.ts';

const { publicUrl, accessPublicUrl, password, trustedProxy } = oneOriginOptions;
const key = randomBytes(32).toString('hex');
const accessToken = newPersonalToken();
const loginLimit = 3;

let database: TestDatabase;
let folder: string;
let port: number;
let server: ServedPlatform & { accessUrl: string };
let access: Program;

/** A port that nobody listens at now. */
async function freePort(): Promise<number> {
  const reserved = await listen(() => undefined);
  const { port: free } = reserved.address() as AddressInfo;
  await new Promise((resolve) => {
    reserved.close(resolve);
  });
  return free;
}

function listen(serve: (socket: Socket) => void, at = 0): Promise<Server> {
  return new Promise((resolve, reject) => {
    const listening = createServer(serve).on('error', reject);
    listening.listen(at, '127.0.0.1', () => resolve(listening));
  });
}

function startAccess(): Program {
  return new Program([
    'access-server',
    `--svc.access.port=${port}`,
    `--svc.access.api-url=${server.url}`,
    `--svc.access.token-file=${join(folder, 'token')}`,
    `--svc.access.public-url=${accessPublicUrl}`,
    `--svc.database.url=${databaseUrlOf(database)}`,
    `--svc.data.dir=${join(folder, 'access')}`,
    `--svc.security.key=${key}`,
    `--svc.access.login.ip-limit=${loginLimit}`,
  ]);
}

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-forwarded-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Console</title>');
  await writeFile(join(folder, 'uc.html'), '<!doctype html><title>User center</title>');
  await writeFile(join(folder, 'token'), accessToken, { mode: 0o600 });
  port = await freePort();
  const accessUrl = `http://127.0.0.1:${port}`;
  const platform = await startServedPlatform(
    database,
    [
      `--svc.security.initial-admin-password=${password}`,
      `--svc.security.access-server-token=${accessToken}`,
      `--svc.security.key=${key}`,
      `--svc.server.public-url=${publicUrl}`,
      `--svc.server.access-url=${accessUrl}`,
      `--svc.http.trusted-proxies=${trustedProxy}`,
      '--svc.api.request-timeout=3s',
      '--svc.http.max-wait=1s',
    ],
    { consoleFolder: folder, accessServer: false },
  );
  server = { ...platform, accessUrl };
  access = startAccess();
  await access.line('ready');
});
afterAll(async () => {
  await killPrograms();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
  await database?.drop();
});

describeOneOrigin(() => server);

test('a proof that a client has forged is dropped', async () => {
  for (const text of forgedProofs) {
    const { cookie } = await logIn(server.url, { from: '127.0.0.8', headers: { 'x-svc-forwarded': text } });
    const { json } = await ask(server.url, 'GET', '/api/v1/audits/my-login-logs/?limit=1', { headers: { cookie } });
    expect(json.results[0]).toMatchObject({ remote_addr: '127.0.0.8' });
  }
});

test('failed logins lock out the address of the client that sent them, and no other', async () => {
  const logInFrom = (from: string, username: string, given: string): ReturnType<typeof ask> =>
    ask(server.url, 'POST', '/api/v1/authentication/auth/', {
      body: { username, password: given },
      from,
      headers: { 'x-forwarded-for': '127.0.0.21' },
    });
  for (let i = 0; i < loginLimit; i += 1)
    expect((await logInFrom('127.0.0.20', `nobody-${i}`, 'a wrong one')).json.error).toBe('password_failed');
  expect((await logInFrom('127.0.0.20', 'admin', password)).json).toMatchObject({
    error: 'block_login',
    msg: expect.stringContaining('from your address'),
  });
  expect((await logInFrom('127.0.0.21', 'admin', password)).status).toBe(201);
});

describe('a service that', () => {
  const stopAccess = async (): Promise<void> => {
    access.child.kill('SIGTERM');
    await access.exited;
  };

  test('is away is 503, and the platform goes on; when it is back, all is well', async () => {
    const { cookie } = await logIn(server.url);
    await stopAccess();
    const answer = await ask(server.url, 'GET', '/api/v1/users/profile/', { headers: { cookie } });
    expect([answer.status, answer.headers['retry-after'], answer.json]).toMatchObject([
      503,
      '1',
      { kind: 'Status', reason: 'ServiceUnavailable', message: expect.stringContaining('cannot be reached') },
    ]);
    expect((await ask(server.url, 'GET', '/api/v1/namespaces', { headers: { cookie } })).status).toBe(200);
    access = startAccess();
    await access.line('ready');
    expect((await ask(server.url, 'GET', '/api/v1/users/profile/', { headers: { cookie } })).status).toBe(200);
  });

  test('does not answer is 504, with ?watch too', async () => {
    await stopAccess();
    const sockets = new Set<Socket>();
    const silent = await listen((socket) => void sockets.add(socket.on('error', () => undefined)), port);
    const answers = await Promise.all(
      ['/api/v1/users/profile/', '/api/v1/users?watch=true'].map((path) => ask(server.url, 'GET', path)),
    );
    expect(answers.map(({ status, json }) => [status, json.reason])).toEqual([
      [504, 'Timeout'],
      [504, 'Timeout'],
    ]);
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      silent.close(resolve);
    });
    access = startAccess();
    await access.line('ready');
  });

  test('ends with requests under way answers them first', async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
    const body = JSON.stringify({ username: 'admin', password });
    // The body is not complete yet.
    socket.write(
      `POST /api/v1/authentication/auth/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    await pollUntil(
      async () => /http_server_active_requests\{http_request_method="POST"[^}]*\} 1/.test(await metricsOfAccess()),
      30_000,
      'the request to be under way',
    );
    access.child.kill('SIGTERM');
    await access.line('stopping');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(body.slice(5));
    await closed;
    expect(received).toMatch(/^HTTP\/1\.1 201 /);
    await access.exited;
    access = startAccess();
    await access.line('ready');
  });
});

async function metricsOfAccess(): Promise<string> {
  const { cookie } = await logIn(server.accessUrl);
  return (await ask(server.accessUrl, 'GET', '/metrics', { headers: { cookie } })).text;
}
