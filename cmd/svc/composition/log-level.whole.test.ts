import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { killPrograms, Program, startServe } from '../start-test-program.ts';

const path = '/debug/flags/log-level';
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-log-level-'));
});
afterEach(async () => {
  await killPrograms();
  await rm(folder, { recursive: true, force: true });
});

async function set(service: string, level: string, token?: string): Promise<[status: number, text: string]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await fetch(service + path, { method: 'PUT', headers, body: level });
  return [answer.status, await answer.text()];
}

async function post(url: string, token: string | undefined, body: object): Promise<Record<string, string>> {
  const headers = {
    'content-type': 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  expect([answer.status, answer.ok]).toEqual([answer.status, true]);
  return (await answer.json()) as Record<string, string>;
}

test('an administrator changes the log level of each process, and nobody else does', async () => {
  const dataDir = join(folder, 'data');
  const { url, accessUrl, token } = await startServe(dataDir);
  const manager = new Program([
    'controller-manager',
    '--svc.controllers.port=0',
    `--svc.controllers.api-url=${url}`,
    `--svc.data.dir=${dataDir}`,
  ]);
  const managerUrl = `http://127.0.0.1:${String((await manager.line('ready'))['port'])}`;
  const tokens = `${accessUrl}/api/v1/authentication/tokens/`;
  const password = (await readFile(join(dataDir, 'initial-admin-password'), 'utf8')).trim();
  const administrator = (await post(tokens, undefined, { username: 'admin', password }))['token']!;
  await post(`${accessUrl}/api/v1/users/users/`, administrator, {
    username: 'mia',
    name: 'Mia',
    email: 'mia@example.com',
    password: 'a-Long-enough-Secret-4711',
  });
  const mia = (await post(tokens, undefined, { username: 'mia', password: 'a-Long-enough-Secret-4711' }))['token']!;

  expect(await set(url, 'debug', token)).toEqual([200, 'debug\n']);
  // One process with two services has one log.
  expect(await set(accessUrl, 'info', administrator)).toEqual([200, 'info\n']);
  expect(await set(managerUrl, 'trace', token)).toEqual([200, 'trace\n']);
  const refused = await Promise.all([
    set(url, 'silent'),
    set(url, 'silent', mia),
    set(accessUrl, 'silent'),
    set(accessUrl, 'silent', mia),
    set(accessUrl, 'silent', token),
    set(managerUrl, 'silent'),
    set(managerUrl, 'silent', administrator),
  ]);
  expect(refused.map(([status]) => status)).toEqual([401, 401, 401, 403, 401, 401, 401]);
});

test('SIGUSR2 sets the log level to debug, and the next one sets it back', async () => {
  const { program, url } = await startServe(join(folder, 'data'));
  const changes = (): unknown[] =>
    program
      .lines()
      .flatMap(({ msg, from, to, signal }) => (msg === 'changed the log level' ? [[from, to, signal]] : []));
  program.child.kill('SIGUSR2');
  await program.until(() => changes()[0]);
  await fetch(`${url}/version`);
  await program.until(() => program.lines().find(({ level, msg }) => level === 'debug' && msg === 'request'));
  program.child.kill('SIGUSR2');
  await program.until(() => changes()[1]);
  expect(changes()).toEqual([
    ['info', 'debug', 'SIGUSR2'],
    ['debug', 'info', 'SIGUSR2'],
  ]);
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
});
