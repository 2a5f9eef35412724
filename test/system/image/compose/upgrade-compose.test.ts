import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { deployFolder } from './compose-file.ts';

const run = promisify(execFile);
const services = ['apiserver', 'access-server', 'controller-manager'];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-upgrade-'));
  await mkdir(join(folder, 'containers'));
  await mkdir(join(folder, 'bin'));
  await symlink(join(import.meta.dirname, 'stand-in-docker.sh'), join(folder, 'bin/docker'));
  await copyFile(join(deployFolder, 'upgrade-compose.sh'), join(folder, 'upgrade-compose.sh'));
  await writeFile(join(folder, '.env'), 'IMAGE=svc:old\nSUBNET=10.9.0.0/24');
});
afterEach(() => rm(folder, { recursive: true }));

async function install(counts: readonly number[]): Promise<void> {
  for (const [index, service] of services.entries()) {
    for (let number = 1; number <= counts[index]!; number += 1)
      await writeFile(join(folder, 'containers', `${service}-${number}`), 'svc:old\n');
  }
}

/** Rejects unless the script exits with 0. */
function upgrade(refused = 'nothing', args = ['svc:new']): Promise<{ stdout: string; stderr: string }> {
  return run(join(folder, 'upgrade-compose.sh'), args, {
    env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, DOCKER: folder, REFUSED: refused },
  });
}

/** The images of a service's replicas. */
function imagesOf(service: string): string[] {
  const containers = join(folder, 'containers');
  return readdirSync(containers)
    .filter((name) => name.startsWith(`${service}-`))
    .toSorted()
    .map((name) => readFileSync(join(containers, name), 'utf8').trim());
}

function linesOf(name: string): string[] {
  return existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8').trim().split('\n') : [];
}

const copies = <T>(value: T, count: number): T[] => Array.from({ length: count }, () => value);

test.each([
  [2, 2, 2],
  [4, 3, 0],
])(
  '%i apiservers, %i access-servers and %i controller-managers are as many of the new image afterwards, and one more of one at the most',
  async (...counts) => {
    await install(counts);
    await upgrade();
    expect(services.map(imagesOf)).toEqual(counts.map((count) => copies('svc:new', count)));
    expect(linesOf('counts').map(Number)).toEqual(counts.flatMap((count) => copies(count + 1, count)));
  },
);

test.each([2, 3, 4])('%i replicas serve on where the first new one does not become healthy', async (count) => {
  await install([count, 2, 2]);
  await expect(upgrade(`apiserver-${count + 1}`)).rejects.toThrow(
    `apiserver: not all replicas became healthy. The new one was removed, its last lines are above; 0 of ${count} were replaced.`,
  );
  expect(services.map(imagesOf)).toEqual([count, 2, 2].map((number) => copies('svc:old', number)));
  expect(linesOf('calls').filter((call) => call.startsWith('stop '))).toEqual([]);
});

test('what was replaced before one fails stays, with as many as there were, and .env names the image of before', async () => {
  await install([2, 3, 2]);
  await expect(upgrade('access-server-5')).rejects.toThrow(
    'the last lines of access-server-5\naccess-server: not all replicas',
  );
  expect(services.map(imagesOf)).toEqual([
    ['svc:new', 'svc:new'],
    ['svc:old', 'svc:old', 'svc:new'],
    ['svc:old', 'svc:old'],
  ]);
  expect(await readFile(join(folder, '.env'), 'utf8')).toBe('IMAGE=svc:old\nSUBNET=10.9.0.0/24');
});

test('changes nothing where the new version cannot take the database over, or no image is named', async () => {
  await install([2, 2, 2]);
  await expect(upgrade('migrate')).rejects.toThrow();
  expect(linesOf('calls')).toEqual(['compose run --rm --no-TTY --no-deps apiserver migrate --check']);
  await expect(upgrade('nothing', [])).rejects.toThrow('upgrade-compose.sh <image>');
});

test('a command under way, such as a backup, is no replica', async () => {
  await install([2, 2, 2]);
  await writeFile(join(folder, 'containers/apiserver-99'), 'svc:old once\n');
  await upgrade();
  expect(imagesOf('apiserver')).toEqual(['svc:new', 'svc:new', 'svc:old once']);
});

test('.env has the new image, and what else was in it', async () => {
  await upgrade();
  expect(await readFile(join(folder, '.env'), 'utf8')).toBe('SUBNET=10.9.0.0/24\nIMAGE=svc:new\n');
  await rm(join(folder, '.env'));
  await upgrade();
  expect(await readFile(join(folder, '.env'), 'utf8')).toBe('IMAGE=svc:new\n');
});
