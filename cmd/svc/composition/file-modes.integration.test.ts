import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { checkFileModes } from './file-modes.ts';
import { OperatorError } from '../options/operator-error.ts';
import { loadOptions } from '../options/load-options.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-modes-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function put(name: string, mode: number, text = 'x'): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

interface Warning {
  path: string;
  mode: string;
  msg: string;
}

async function check(
  args: readonly string[] = [],
  parts: { runsPlugins?: boolean; mostEntries?: number } = {},
): Promise<Warning[]> {
  const lines: Warning[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Warning) });
  const loaded = loadOptions({
    configFolder: join(folder, 'config'),
    environment: {},
    args: [`--svc.data.dir=${join(folder, 'data')}`, ...args],
  });
  await checkFileModes(loaded, { runsPlugins: true, log, ...parts });
  return lines.map(({ path, mode, msg }) => ({ path, mode, msg }));
}
beforeEach(async () => {
  await put('config/svc.yaml', 0o644, 'svc.server.port: 8090\n');
});

test('modes that the server sets, and missing files, cause no message', async () => {
  expect(await check()).toEqual([]);
  for (const name of ['admin-token', 'initial-admin-password', 'kubeconfig', 'tls/ca.key', 'tls/server.key'])
    await put(`data/${name}`, 0o600);
  await put('data/plugins/blog/plugin.yaml', 0o644);
  await put('config/secrets.yaml', 0o600, `svc.database.url: postgres://svc:secret@db/svc\n`);
  expect(await check()).toEqual([]);
});

describe('a secret of the data folder', () => {
  const names = ['admin-token', 'initial-admin-password', 'kubeconfig', 'tls/ca.key', 'tls/server.key'];
  test.each(
    names.flatMap((name) =>
      [0o644, 0o604, 0o602, 0o666, 0o444].map((mode) => ({ name, mode, octal: mode.toString(8) })),
    ),
  )('$name with mode 0$octal ends the start with one sentence', async ({ name, mode, octal }) => {
    const path = await put(`data/${name}`, mode);
    await expect(check()).rejects.toThrow(
      new OperatorError(
        `The file ${path} holds a secret and is open to others (mode 0${octal}); make it 0600, or 0640 where its group must read it.`,
      ),
    );
  });
  test.each(names)('%s may be readable by its group', async (name) => {
    await put(`data/${name}`, 0o640);
    expect(await check()).toEqual([]);
    await put(`data/${name}`, 0o660);
    expect(await check()).toEqual([]);
  });
});

describe('code that others can write', () => {
  test.each([
    ['the folder of plugins', 'data/plugins', 0o777],
    ['one with the bit of shared folders', 'data/plugins', 0o1777],
    ["a plugin's folder", 'data/plugins/blog', 0o777],
    ['a file', 'data/plugins/blog/src/index.ts', 0o666],
    ['a file of a dependency', 'data/plugins/blog/node_modules/a/index.js', 0o646],
    ['what was bundled', 'data/plugin-bundles/sdk.js', 0o666],
  ])('ends the start: %s', async (_what, name, mode) => {
    for (const file of ['plugins/blog/src/index.ts', 'plugins/blog/node_modules/a/index.js', 'plugin-bundles/sdk.js'])
      await put(`data/${file}`, 0o644);
    await chmod(join(folder, name), mode);
    await expect(check()).rejects.toThrow(OperatorError);
    await expect(check()).rejects.toThrow(
      `Others can write ${join(folder, name)} (mode 0${(mode & 0o777).toString(8)}), which holds code that this program runs`,
    );
    // A process without plugins does not check plugin code.
    expect(await check([], { runsPlugins: false })).toEqual([]);
  });

  test('also in the folder that an option names; its group may write it', async () => {
    const path = await put('elsewhere/blog/index.ts', 0o664);
    await chmod(dirname(path), 0o775);
    const args = [`--svc.plugins.dir=${join(folder, 'elsewhere')}`];
    expect(await check(args)).toEqual([]);
    await chmod(dirname(path), 0o777);
    await expect(check(args)).rejects.toThrow(`Others can write ${dirname(path)}`);
  });

  test('a link counts as its target: its own mode is ignored, and it may lead back, or nowhere', async () => {
    await put('data/plugins/blog/index.ts', 0o644);
    const links = [
      ['index.ts', 'link.ts'],
      ['..', 'back'],
      ['none', 'broken'],
    ] as const;
    for (const [to, name] of links) await symlink(to, join(folder, 'data/plugins/blog', name));
    expect(await check()).toEqual([]);
  });

  test.each([
    ['a plugin', 'checkout', 'checkout', 0o777],
    ['a file of it', 'checkout/src/index.ts', 'checkout', 0o666],
  ])('also through a link: %s', async (_what, name, linked, mode) => {
    await put('checkout/src/index.ts', 0o644);
    await mkdir(join(folder, 'data/plugins'), { recursive: true });
    await symlink(join(folder, linked), join(folder, 'data/plugins/blog'));
    expect(await check()).toEqual([]);
    await chmod(join(folder, name), mode);
    await expect(check()).rejects.toThrow(
      `Others can write ${join(folder, name)} (mode 0${mode.toString(8)}), which holds code that this program runs; remove that permission with chmod -R o-w ${join(folder, linked)}.`,
    );
  });

  test('of a folder with very many entries only a part is checked, which is logged', async () => {
    for (const name of ['a', 'b', 'c']) await put(`data/plugins/${name}`, 0o644);
    expect(await check([], { mostEntries: 4 })).toEqual([]);
    expect(await check([], { mostEntries: 3 })).toEqual([
      {
        path: join(folder, 'data/plugins'),
        mode: undefined,
        msg: expect.stringContaining('more entries than are checked'),
      },
    ]);
  });
});

describe('files of the operator', () => {
  const named = ['svc.tls.key-file', 'svc.access.token-file', 'svc.controllers.token-file'] as const;
  test.each(named)('%s readable by others causes a warning', async (option) => {
    const path = await put('handed', 0o644);
    expect(await check([`--${option}=${path}`])).toEqual([
      { path, mode: '0644', msg: expect.stringContaining('others can read this file, which holds a secret') },
    ]);
    await chmod(path, 0o640);
    expect(await check([`--${option}=${path}`])).toEqual([]);
  });

  test('the file of a password is one too', async () => {
    const path = await put('handed', 0o644, 'hunter2\n');
    expect(await check([`--svc.security.initial-admin-password-file=${path}`])).toEqual([
      { path, mode: '0644', msg: expect.stringContaining('others can read this file, which holds a secret') },
    ]);
  });

  test('a key of a database, and a config file with a secret, cause one too', async () => {
    const key = await put('client.key', 0o644);
    const config = await put(
      'config/secrets.yaml',
      0o644,
      `svc.database.url: postgres://svc:secret@db:5432,db2:5432/svc?sslkey=${key}\n`,
    );
    expect((await check()).map(({ path }) => path)).toEqual([key, config]);
  });

  test.each(['svc.tls.cert-file', 'svc.access.ca-file', 'svc.controllers.ca-file', 'svc.database.ca-file'])(
    '%s writable by others causes a warning, and may be readable',
    async (option) => {
      const path = await put('handed', 0o644);
      expect(await check([`--${option}=${path}`])).toEqual([]);
      await chmod(path, 0o666);
      expect(await check([`--${option}=${path}`])).toEqual([
        { path, mode: '0666', msg: expect.stringContaining('others can write this') },
      ]);
    },
  );

  test('the data folder, the config folder and its files cause one too', async () => {
    await mkdir(join(folder, 'data'));
    for (const name of ['data', 'config', 'config/svc.yaml']) await chmod(join(folder, name), 0o777);
    expect((await check()).map(({ path }) => path)).toEqual([
      join(folder, 'data'),
      join(folder, 'config'),
      join(folder, 'config/svc.yaml'),
    ]);
  });
});
