import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program, startServe } from '../start-test-program.ts';

const scrapeToken = 'scrape-token-of-the-test';
const option = `--svc.metrics.token=${scrapeToken}`;
let folder: string;
let home: TestDatabase;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-scrape-'));
  home = await createTestDatabase();
});
afterEach(async () => {
  await killPrograms();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

async function statusOf(url: string, token: string): Promise<number> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  await answer.text();
  return answer.status;
}

test('the scrape token opens the metrics of all services, and nothing else, also while the database is away', async () => {
  const dataDir = join(folder, 'data');
  const { url, accessUrl, token } = await startServe(dataDir, [option, `--svc.database.url=${databaseUrlOf(home)}`]);
  const manager = new Program([
    'controller-manager',
    '--svc.controllers.port=0',
    `--svc.controllers.api-url=${url}`,
    `--svc.data.dir=${dataDir}`,
    option,
  ]);
  const managerUrl = `http://127.0.0.1:${String((await manager.line('ready'))['port'])}`;
  const services = [url, accessUrl, managerUrl];
  const all = (path: string, credential: string): Promise<number[]> =>
    Promise.all(services.map((service) => statusOf(service + path, credential)));

  expect(await all('/metrics', scrapeToken)).toEqual([200, 200, 200]);
  expect(await all('/metrics', token)).toEqual([200, 200, 200]);
  expect(await all('/metrics', `${scrapeToken}x`)).toEqual([401, 401, 401]);
  expect(await statusOf(`${url}/api/v1/namespaces`, scrapeToken)).toBe(401);
  expect(await statusOf(`${accessUrl}/api/v1/users/profile/`, scrapeToken)).toBe(401);

  await home.drop();
  await pollUntil(async () => (await fetch(`${url}/readyz`)).status === 503);
  expect(await statusOf(`${url}/api/v1/namespaces`, token)).toBeGreaterThanOrEqual(500);
  expect(await all('/metrics', scrapeToken)).toEqual([200, 200, 200]);
});
