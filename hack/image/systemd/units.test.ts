import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { loadOptions } from '../../../cmd/svc/options/load-options.ts';
import { repository } from '../dockerfile.ts';
import { sampleOptions, Unit, unitsFolder, variablesOf } from './unit.ts';

const run = promisify(execFile);
const services = ['svc@.service', 'svc-backup.service'];

const hasSystemd = spawnSync('systemd-analyze', ['--version']).error === undefined;
if (!hasSystemd && process.env['CI'] !== 'true') process.stderr.write('WARNING: systemd-analyze is not installed, so the units are not verified.\n');
const testWithSystemd = hasSystemd || process.env['CI'] === 'true' ? test : test.skip;

testWithSystemd('systemd finds nothing wrong in the units', async () => {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...[...services, 'svc-backup.timer'].map((unit) => join(unitsFolder, unit))]);
  // The program of an installation is not on this machine.
  expect(`${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !/Command \/(usr\/bin\/node|opt\/svc\S*) is not executable/.test(line))).toEqual([]);
});

testWithSystemd.each(services)('%s is exposed as little as a server can be', async (service) => {
  const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', join(unitsFolder, service)]);
  const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
  expect(Number(exposure)).toBeLessThanOrEqual(1.5);
});

test('the options of the unit, and of the sample of options, exist; stopping has its time', () => {
  const sample = sampleOptions();
  expect(Object.keys(sample).length).toBeGreaterThan(3);
  const unit = new Unit('svc@.service');
  const { options } = loadOptions({ environment: { ...unit.environment, ...sample }, args: [], configFolder: undefined });
  expect(Number(/^(\d+)s$/.exec(unit.setting('TimeoutStopSec'))?.[1]) * 1000).toBeGreaterThan(options['svc.server.drain-timeout']);
});

test('the page has the same options for two machines as the sample, and where programs of other addresses find the API', () => {
  const [, block] = /in `\/etc\/svc\/svc\.env`[^\n]*\n\n```console\n([\s\S]*?)^```/m.exec(readFileSync(join(repository, 'docs/deploy.md'), 'utf8'))!;
  expect(variablesOf(block!)).toEqual(sampleOptions());
  expect(Object.keys(sampleOptions())).toEqual(expect.arrayContaining(['SVC_SERVER_HOST', 'SVC_ACCESS_API_URL', 'SVC_CONTROLLERS_API_URL']));
});

test('old backups go, and what is left of killed ones, though systemd has the folder behind a link', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-backups-'));
  const state = join(folder, 'state');
  await mkdir(join(folder, 'private'));
  await symlink('private', state);
  const now = Date.now() / 1000;
  for (const [name, days] of [['svc-a.backup', 16], ['svc-b.backup.partial', 16], ['svc-c.backup', 13], ['notes', 16]] as const) {
    await writeFile(join(state, name), '');
    await utimes(join(state, name), now, now - days * 86_400);
  }
  const [command, ...args] = new Unit('svc-backup.service').setting('ExecStartPost').split(' ').map((word) => word.replace(/^"(.*)"$/, '$1').replace('${STATE_DIRECTORY}', state));
  await run(command!, args);
  expect(await readdir(state)).toEqual(['notes', 'svc-c.backup']);
  await rm(folder, { recursive: true });
});

test.each(services)('%s has its secrets from files that root alone reads, and no user of its own', (service) => {
  const unit = new Unit(service);
  expect(unit.setting('DynamicUser')).toBe('yes');
  expect(unit.settings('LoadCredential')).toContain('secrets.yaml:/etc/svc/secrets.yaml');
  expect(Object.keys(unit.environment).filter((name) => /DATABASE_URL|PASSWORD|TOKEN$|_KEY$/.test(name))).toEqual([]);
});

test('a program that ends is started again, however often', () => {
  const unit = new Unit('svc@.service');
  expect([unit.setting('Restart'), unit.setting('StartLimitIntervalSec')]).toEqual(['always', '0']);
});
