import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';

let home: TestDatabase;
let folder: string;

beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-terminal-'));
  await mkdir(join(folder, 'plugins/talker'), { recursive: true });
  const manifest = {
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name: 'talker' },
    spec: { version: '1.0.0', enabled: true },
  };
  await writeFile(join(folder, 'plugins/talker/plugin.yaml'), JSON.stringify(manifest));
  const module =
    "import { definePlugin } from '@svc/sdk';\nconsole.log('good morning');\nexport default definePlugin({});\n";
  await writeFile(join(folder, 'plugins/talker/index.ts'), module);
});
afterEach(killPrograms);
afterAll(async () => {
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

const serve = (): string[] => [
  'serve',
  '--svc.server.port=0',
  `--svc.data.dir=${folder}`,
  `--svc.database.url=${databaseUrlOf(home)}`,
];

async function tokenIn(program: Program): Promise<string> {
  const token = (await readFile(join(folder, 'admin-token'), 'utf8')).trim();
  expect(token).toMatch(/^pat_/);
  expect(program.stdout).not.toContain(token);
  return token;
}

// `script` has other options on other systems.
(process.platform === 'linux' ? test : test.skip)(
  'on a terminal logs are for people, of plugins too, and the start says where everything is; Ctrl-C stops it',
  async () => {
    const program = new Program(serve(), { onTerminal: true });
    await program.until(() => /svc is ready/.exec(program.stdout) ?? undefined);
    const greeting = await program.until(() => /.*good morning.*/.exec(program.stdout)?.[0]);
    program.child.stdin!.write('\u0003');
    expect(await program.exited).toBe(0);
    // oxlint-disable-next-line no-control-regex -- colours
    const text = program.stdout.replaceAll(/\u001b\[\d+m/g, '').replaceAll('\r', '');
    expect(greeting).toMatch(/talker/);
    expect(text).not.toMatch(/^\{/m);
    expect(text).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: stopped$/m);
    expect(text).toMatch(/\n {2}API {8}http:\/\/127\.0\.0\.1:\d+/);
    expect(text).toContain(`Token      ${join(folder, 'admin-token')}`);
    await tokenIn(program);
  },
);

(process.platform === 'linux' ? test : test.skip)(
  'with svc.log.format: json there is nothing but JSON on a terminal either',
  async () => {
    const program = new Program([...serve(), '--svc.log.format=json'], { onTerminal: true });
    await program.line('ready');
    program.child.stdin!.write('\u0003');
    expect(await program.exited).toBe(0);
    expect(
      program.stdout
        .replace('^C', '')
        .trim()
        .split(/\r?\n/)
        .filter((line) => !line.startsWith('{"level":')),
    ).toEqual([]);
  },
);

test('without a terminal lines are JSON, unless svc.log.format is pretty', async () => {
  const json = new Program(serve());
  await json.line('ready');
  json.child.kill('SIGTERM');
  expect(await json.exited).toBe(0);
  expect(
    json.stdout
      .trim()
      .split('\n')
      .filter((line) => !line.startsWith('{"level":')),
  ).toEqual([]);

  const pretty = new Program([...serve(), '--svc.log.format=pretty']);
  await pretty.until(() => /svc is ready/.exec(pretty.stdout) ?? undefined);
  pretty.child.kill('SIGTERM');
  expect(await pretty.exited).toBe(0);
  expect(pretty.stdout).toMatch(/^\[[\d:.]+\] INFO: ready \{"url":/m);
  // oxlint-disable-next-line no-control-regex -- no colours in a file
  expect(pretty.stdout).not.toMatch(/\u001b/);
  await tokenIn(pretty);
});
