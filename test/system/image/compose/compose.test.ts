import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { isPersonalToken, newPersonalToken } from '#pkg/identity/index';
import { loadOptions } from '../../../../cmd/svc/options/load-options.ts';
import { repository } from '../../../../hack/image/dockerfile.ts';
import { withMountedTokens } from '../mounted-tokens.ts';
import { deployFolder, programsOf, readComposeFile } from './compose-file.ts';

const run = promisify(execFile);
const schemaFile = join(repository, 'node_modules/dclint/schemas/compose.schema.json');
const file = await readComposeFile();
const programs = programsOf(file);
const page = readFileSync(join(repository, 'docs/deploy.md'), 'utf8');

/** Skips with a message if something is not installed, but fails in CI. */
function testWhere(isThere: boolean, what: string): typeof test | typeof test.skip {
  if (isThere || process.env['CI'] === 'true') return test;
  process.stderr.write(`WARNING: ${what} is not installed, so what needs it is skipped.\n`);
  return test.skip;
}

testWhere(existsSync(schemaFile), 'the npm package dclint')(
  'compose.yaml is as the specification says, with no unknown field',
  () => {
    const {
      $schema: _dialect,
      $id: _name,
      ...schema
    } = JSON.parse(readFileSync(schemaFile, 'utf8')) as Record<string, unknown>;
    const validate = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
    expect(validate(file) ? [] : validate.errors).toEqual([]);
  },
);

testWhere(spawnSync('haproxy', ['-v']).error === undefined, 'haproxy')(
  'haproxy takes haproxy.cfg and the sample of docs/deploy.md, and warns of nothing',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-haproxy-'));
    try {
      const sample = /^```haproxy\n([\s\S]*?)^```/m.exec(page)![1]!;
      // The operator provides the certificate.
      await writeFile(join(folder, 'sample.cfg'), sample.replaceAll(/ ssl crt .*$/gm, ''));
      for (const config of [join(deployFolder, 'haproxy.cfg'), join(folder, 'sample.cfg')]) {
        const { stdout, stderr } = await run('haproxy', ['-c', '-f', config]);
        expect(`${stdout}${stderr}`).not.toMatch(/WARNING|ALERT/);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

describe('every program', () => {
  test('is there', () =>
    expect(programs.map(([name, { command }]) => [name, command])).toEqual(
      ['apiserver', 'access-server', 'controller-manager'].map((name) => [name, [name]]),
    ));

  test.each(programs)(
    '%s: its options exist, and leave it time to stop',
    async (_name, { environment: variables = {}, stop_grace_period: grace }) => {
      await withMountedTokens(variables, '/run/secrets', (environment) => {
        const { options } = loadOptions({ environment, args: [], configFolder: undefined });
        const seconds = Number(/^(\d+)s$/.exec(grace ?? '')?.[1]);
        expect(seconds * 1000).toBeGreaterThan(options['svc.server.drain-timeout']);
        expect(options['svc.server.drain-timeout']).toBeGreaterThan(options['svc.server.shutdown-delay'] + 10_000);
      });
    },
  );

  test.each(programs)(
    '%s: every secret that its options name is mounted',
    (_name, { environment = {}, secrets = [] }) => {
      const files = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'));
      for (const name of files) expect(secrets).toContain(name.slice('/run/secrets/'.length));
      for (const secret of secrets)
        expect(Object.keys(file.secrets)).toContain(typeof secret === 'string' ? secret : secret.source);
    },
  );

  test.each(programs)('%s: nothing it need not have', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      tmpfs: ['/tmp', '/data:uid=10001,gid=10001,mode=0700'],
      restart: 'always',
    });
    // Other services are reached through the proxy.
    expect(service.ports).toBeUndefined();
  });

  test.each(programs)('%s: asked for its readiness without a shell', (_name, { healthcheck }) => {
    expect(healthcheck?.test.slice(0, 3)).toEqual(['CMD', 'node', '-e']);
    expect(healthcheck?.test[3]).toMatch(/:809[012]\/readyz\?exclude=writes'/);
  });

  test('no secret is in a variable, which others can see', () => {
    for (const [, { environment = {} }] of Object.entries(file.services)) {
      for (const [name, value] of Object.entries(environment))
        if (/PASSWORD|TOKEN|SECRET|KEY|DATABASE/.test(name)) expect(value).toMatch(/^\/run\/secrets\//);
    }
  });

  test('nothing is published to other machines', () => {
    for (const [, { ports = [] }] of Object.entries(file.services))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});

test('every log is cut, so that none fills the disk', () => {
  for (const { logging } of Object.values(file.services)) expect(logging).toEqual({ driver: 'local' });
});

test('PostgreSQL has connections for four of each server, as the page says, and for one of each more', () => {
  const [connections] = file.services['postgres']!.command!.flatMap(
    (word) => /^max_connections=(\d+)$/.exec(word)?.[1] ?? [],
  );
  // The formula of docs/sizing.md.
  expect(Number(connections)).toBeGreaterThanOrEqual((4 + 1) * 49 + (4 + 1) * 22 + 10);
  expect(page.replaceAll(/\s+/g, ' ')).toContain(
    `\`max_connections\` of PostgreSQL is ${connections}, enough for four apiservers and four access-servers`,
  );
});

test('the page has every command in the folder deploy, where compose reads .env and compose.override.yaml by itself', () => {
  expect(page).toContain('docker compose up --detach --wait');
  expect(page).not.toMatch(/docker compose (-f|--file)/);
});

describe('make-secrets.sh', () => {
  let folder: string;
  let secrets: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-secrets-'));
    secrets = join(folder, 'secrets');
    // A token of the list at each call.
    await writeFile(join(folder, 'tokens'), Array.from({ length: 8 }, () => `${newPersonalToken()}\n`).join(''));
    const take = 'cd "$(dirname "$0")"; head -n 1 tokens; sed -i 1d tokens';
    await writeFile(join(folder, 'svc'), `#!/bin/sh\n[ "$1" = new-token ] || exit 1\n${take}\n`, { mode: 0o755 });
  });
  afterAll(() => rm(folder, { recursive: true }));
  const make = (): Promise<unknown> =>
    run(join(deployFolder, 'make-secrets.sh'), {
      env: { PATH: process.env['PATH'], SECRETS: secrets, SVC: join(folder, 'svc') },
    });

  test('makes what compose.yaml mounts, closed to other users of the machine and open to those of containers', async () => {
    await make();
    expect(statSync(secrets).mode & 0o777).toBe(0o700);
    for (const { file: path } of Object.values(file.secrets))
      expect(statSync(join(secrets, '..', path)).mode & 0o777).toBe(0o444);
    const { options } = loadOptions({ environment: {}, args: [], configFolder: secrets });
    expect(options['svc.security.initial-admin-token']).toBe(readFileSync(join(secrets, 'admin-token'), 'utf8'));
    expect(options['svc.database.url']).toBe(
      `postgres://svc:${readFileSync(join(secrets, 'postgres-password'), 'utf8')}@postgres:5432/svc`,
    );
    expect(options['svc.security.key']).toMatch(/^[0-9a-f]{64}$/);
  });

  const read = (name: string): string => readFileSync(join(secrets, name), 'utf8');

  test('makes three different tokens', () => {
    const tokens = ['admin-token', 'controller-manager-token', 'access-server-token'].map(read);
    expect(tokens.map(isPersonalToken)).toEqual([true, true, true]);
    expect(new Set(tokens).size).toBe(3);
  });

  test('changes nothing where there are some, except that it adds tokens which earlier versions did not make', async () => {
    const files = ['svc.yaml', 'admin-token', 'access-server-token'];
    const before = files.map(read);
    await expect(make()).rejects.toThrow('is there already');
    const old = read('controller-manager-token');
    await rm(join(secrets, 'controller-manager-token'));
    await make();
    const token = read('controller-manager-token');
    expect([isPersonalToken(token), token === old]).toEqual([true, false]);
    expect(statSync(join(secrets, 'controller-manager-token')).mode & 0o777).toBe(0o444);
    expect(files.map(read)).toEqual(before);
  });
});
