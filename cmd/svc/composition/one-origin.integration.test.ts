import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { ask, describeOneOrigin, forgedProofs, oneOriginOptions } from './origintest/one-origin-cases.ts';
import { startServedPlatform, type ServedPlatform } from './platform/start-test-platform.ts';

const { publicUrl, accessPublicUrl, password, trustedProxy } = oneOriginOptions;

let database: TestDatabase;
let folder: string;
let server: ServedPlatform;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-one-origin-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Console</title>');
  await writeFile(join(folder, 'uc.html'), '<!doctype html><title>User center</title>');
  server = await startServedPlatform(
    database,
    [
      `--svc.security.initial-admin-password=${password}`,
      `--svc.server.public-url=${publicUrl}`,
      `--svc.access.public-url=${accessPublicUrl}`,
      `--svc.http.trusted-proxies=${trustedProxy}`,
    ],
    { consoleFolder: folder },
  );
});
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true });
  await database?.drop();
});

describeOneOrigin(() => server);

test('a request is refused as access management refuses it', async () => {
  const headers = { Authorization: ['Bearer a', 'Bearer b'] };
  const { status, json } = await ask(server.url, 'GET', '/api/v1/users/', { headers });
  expect([status, json.code]).toEqual([401, 'authentication_failed']);
  for (const text of forgedProofs)
    expect((await ask(server.url, 'GET', '/login/', { headers: { 'x-svc-forwarded': text } })).status).toBe(400);
});

test('the folder of the console is read again when a build changes it', async () => {
  await writeFile(join(folder, 'later.js'), 'later');
  expect((await ask(server.url, 'GET', '/console/later.js')).text).toBe('later');
});
