import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { loadOptions } from '../../../../cmd/svc/options/load-options.ts';
import { repository } from '../../../../hack/image/dockerfile.ts';
import { withMountedTokens } from '../mounted-tokens.ts';
import { sampleOptions, Unit, unitsFolder, variablesOf } from './unit.ts';

const run = promisify(execFile);
const services = ['svc@.service', 'svc-backup.service'];
const page = readFileSync(join(repository, 'docs/deploy.md'), 'utf8');

/** From docs/deploy.md. */
function tlsDropIn(): string {
  return /^# cat >\S*svc@\.service\.d\/tls\.conf <<END\n([\s\S]*?)^END$/m.exec(page)![1]!;
}

const hasSystemd = spawnSync('systemd-analyze', ['--version']).error === undefined;
if (!hasSystemd && process.env['CI'] !== 'true')
  process.stderr.write('WARNING: systemd-analyze is not installed, so the units are not verified.\n');
const testWithSystemd = hasSystemd || process.env['CI'] === 'true' ? test : test.skip;

testWithSystemd('systemd finds nothing wrong in the units', async () => {
  const { stdout, stderr } = await run('systemd-analyze', [
    'verify',
    '--man=no',
    ...[...services, 'svc-backup.timer'].map((unit) => join(unitsFolder, unit)),
  ]);
  // The installed program is not on this machine.
  expect(
    `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line !== '' && !/Command \/(usr\/bin\/node|opt\/svc\S*) is not executable/.test(line)),
  ).toEqual([]);
});

testWithSystemd('systemd finds nothing wrong in the drop-in for TLS of docs/deploy.md, and takes it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-drop-in-'));
  try {
    await copyFile(join(unitsFolder, 'svc@.service'), join(folder, 'svc@.service'));
    await mkdir(join(folder, 'svc@.service.d'));
    const verify = async (dropIn: string): Promise<string[]> => {
      await writeFile(join(folder, 'svc@.service.d/tls.conf'), dropIn);
      const { stdout, stderr } = await run('systemd-analyze', [
        'verify',
        '--man=no',
        join(folder, 'svc@apiserver.service'),
      ]);
      return `${stdout}${stderr}`.split('\n').filter((line) => line.includes('tls.conf'));
    };
    expect(await verify(tlsDropIn())).toEqual([]);
    expect(await verify(tlsDropIn().replace('SupplementaryGroups', 'SupplementaryGroup'))).not.toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('the drop-in for TLS names options that exist, and files that its group is given, which are read anew', () => {
  const [, variables] = /^Environment=(.*)$/m.exec(tlsDropIn())!;
  const { options } = loadOptions({ environment: variablesOf(variables!), args: [], configFolder: undefined });
  const [, group] = /^SupplementaryGroups=(.*)$/m.exec(tlsDropIn())!;
  const given = [...page.matchAll(/^install -m 0640 -g (\S+) "\$RENEWED_LINEAGE\/\S+" (\S+)$/gm)].map(
    ([, owner, path]) => [owner, path],
  );
  expect(given).toEqual([
    [group, options['svc.tls.cert-file']],
    [group, options['svc.tls.key-file']],
  ]);
  expect(page).toContain(`groupadd --system ${group}\n`);
});

testWithSystemd.each(services)('%s is exposed as little as a server can be', async (service) => {
  const { stdout } = await run('systemd-analyze', [
    'security',
    '--offline=true',
    '--no-pager',
    join(unitsFolder, service),
  ]);
  const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
  expect(Number(exposure)).toBeLessThanOrEqual(1.5);
});

test('the options of the unit, and of the sample of options, exist; stopping has its time', async () => {
  const sample = sampleOptions();
  expect(Object.keys(sample).length).toBeGreaterThan(3);
  const unit = new Unit('svc@.service');
  await withMountedTokens({ ...unit.environment, ...sample }, '%d', (environment) => {
    const { options } = loadOptions({ environment, args: [], configFolder: undefined });
    expect(Number(/^(\d+)s$/.exec(unit.setting('TimeoutStopSec'))?.[1]) * 1000).toBeGreaterThan(
      options['svc.server.drain-timeout'],
    );
  });
});

test('every file that the unit names in its credentials is one', () => {
  const unit = new Unit('svc@.service');
  const credentials = unit.settings('LoadCredential').map((text) => text.split(':')[0]);
  const named = Object.values(unit.environment).filter((value) => value.startsWith('%d/'));
  expect(named).toHaveLength(4);
  for (const value of named) expect(credentials).toContain(value.slice('%d/'.length));
});

test('the page has the same options for two machines as the sample, and where programs of other addresses find the API', () => {
  const [, block] = /in `\/etc\/svc\/svc\.env`[^\n]*\n\n```console\n([\s\S]*?)^```/m.exec(page)!;
  expect(variablesOf(block!)).toEqual(sampleOptions());
  expect(Object.keys(sampleOptions())).toEqual(
    expect.arrayContaining(['SVC_SERVER_HOST', 'SVC_ACCESS_API_URL', 'SVC_CONTROLLERS_API_URL']),
  );
});

test('the page switches to a version in a line of its own, and in an upgrade once that was copied and checked', () => {
  for (const line of page.split('\n').filter((text) => text.includes('ln -sfn')))
    expect(line).toMatch(/^# ln -sfn \S+ \/opt\/svc$/);
  const [, upgrade] = /^An upgrade, one machine after another(?:[^\n]|\n(?!\n))*\n\n```console\n([\s\S]*?)^```/m.exec(
    page,
  )!;
  expect(upgrade).toMatch(/cp -a [\s\S]* migrate --check [\s\S]*^# ln -sfn [\s\S]*^# systemctl restart /m);
});

test('old backups go, and what is left of killed ones, though systemd has the folder behind a link', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-backups-'));
  const state = join(folder, 'state');
  await mkdir(join(folder, 'private'));
  await symlink('private', state);
  const now = Date.now() / 1000;
  for (const [name, days] of [
    ['svc-a.backup', 16],
    ['svc-b.backup.partial', 16],
    ['svc-c.backup', 13],
    ['notes', 16],
  ] as const) {
    await writeFile(join(state, name), '');
    await utimes(join(state, name), now, now - days * 86_400);
  }
  const [command, ...args] = new Unit('svc-backup.service')
    .setting('ExecStartPost')
    .split(' ')
    .map((word) => word.replace(/^"(.*)"$/, '$1').replace('${STATE_DIRECTORY}', state));
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
