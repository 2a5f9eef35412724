import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { pause } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';

const token = newPersonalToken();
const admin = { authorization: `Bearer ${token}` };
let home: TestDatabase;
let folder: string;

beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-reload-'));
  await chmod(folder, 0o711);
  await mkdir(join(folder, 'plugins/greet'), { recursive: true });
});
afterEach(killPrograms);
afterAll(async () => {
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

async function start(command: 'serve' | 'apiserver'): Promise<{ program: Program; url: string }> {
  const args = [
    '--svc.server.port=0',
    `--svc.data.dir=${join(folder, command)}`,
    `--svc.plugins.dir=${join(folder, 'plugins')}`,
    `--svc.database.url=${databaseUrlOf(home)}`,
    `--svc.security.initial-admin-token=${token}`,
  ];
  const program = new Program([command, ...args]);
  return { program, url: String((await program.line('ready'))['url']) };
}

/** Replaces the file atomically. */
async function put(path: string, text: string): Promise<void> {
  const file = join(folder, 'plugins/greet', path);
  await writeFile(join(folder, 'made'), text);
  await rename(join(folder, 'made'), file);
}

function module(text: string, before = ''): string {
  return `
import { controllerFor, defineEndpoint, defineModel, definePlugin, Type } from '@svc/sdk';
${before}
const at = { group: 'greet.example.com', version: 'v1' } as const;
const Note = defineModel({ ...at, kind: 'Note', plural: 'notes', singular: 'note', spec: Type.Object({ title: Type.String() }) });
const failing = controllerFor(Note).reconcile(async ({ name }) => { throw new RangeError(\`\${name} is out of range\`); });
export default definePlugin({ models: [Note], controllers: [failing], endpoints: [defineEndpoint({ ...at, audience: 'public', method: 'GET', path: '/greeting', handler: async () => '${text}' })] });
`;
}

/** Calls until stopped; records the distinct statuses and bodies. */
class Poll {
  readonly answers = new Set<string>();
  count = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(url: string) {
    this.#running = this.#run(url);
  }

  async until(answer: string): Promise<void> {
    while (!this.answers.has(answer)) await pause(20);
  }

  async stop(): Promise<string[]> {
    this.#isOver = true;
    await this.#running;
    return [...this.answers];
  }

  async #run(url: string): Promise<void> {
    while (!this.#isOver) {
      const answer = await fetch(`${url}/apis/api.greet.example.com/v1/greeting`);
      this.answers.add(`${answer.status} ${await answer.text()}`);
      this.count += 1;
      await pause(5);
    }
  }
}

test('no request to an endpoint fails while its plugin is reloaded, here and at another server; failures are reported to its author', async () => {
  await put(
    'plugin.yaml',
    JSON.stringify({
      apiVersion: 'plugin.svc.run/v1alpha1',
      kind: 'Plugin',
      metadata: { name: 'greet' },
      spec: {
        version: '1.0.0',
        enabled: true,
        permissions: [{ apiGroups: ['greet.example.com'], resources: ['notes'], verbs: ['get', 'list', 'watch'] }],
      },
    }),
  );
  await put('index.ts', module('hello 0'));
  const serve = await start('serve');
  const beside = await start('apiserver');
  for (const { url } of [serve, beside])
    while ((await fetch(`${url}/apis/api.greet.example.com/v1/greeting`)).status !== 200) await pause(50);
  const polls = [serve, beside].map(({ url }) => new Poll(url));
  const all: string[] = ['200 "hello 0"'];
  for (let i = 1; i <= 4; i += 1) {
    // One version cannot be started.
    if (i === 3) {
      await put('index.ts', module('never', "throw new Error('not today');"));
      await serve.program.line('could not start a newer version of a plugin; the previous version keeps running');
    }
    await put('index.ts', module(`hello ${i}`));
    for (const poll of polls) await poll.until(`200 "hello ${i}"`);
    all.push(`200 "hello ${i}"`);
  }
  for (const poll of polls) {
    expect(await poll.stop()).toEqual(all);
    expect(poll.count).toBeGreaterThan(100);
  }

  await fetch(`${serve.url}/apis/greet.example.com/v1/notes`, {
    method: 'POST',
    headers: { ...admin, 'content-type': 'application/json' },
    body: JSON.stringify({
      apiVersion: 'greet.example.com/v1',
      kind: 'Note',
      metadata: { name: 'five' },
      spec: { title: 'five' },
    }),
  });
  const line = await serve.program.line('the reconcile failed; retrying');
  expect(line).toMatchObject({
    level: 'warn',
    plugin: 'greet',
    controller: 'notes',
    request: '/five',
    failures: 1,
    err: {
      type: 'RangeError',
      message: 'five is out of range',
      stack: expect.stringMatching(/plugins\/greet\/index\.ts:6:\d+/),
    },
  });
  for (;;) {
    const { status } = (await (
      await fetch(`${serve.url}/apis/plugin.svc.run/v1alpha1/plugins/greet`, { headers: admin })
    ).json()) as { status: { conditions: { type: string; message: string }[] } };
    const found = status.conditions.find(({ type }) => type === 'ReconcilesSucceed');
    if (found === undefined) continue;
    expect(found.message).toMatch(
      /the last is \/five, of the controller notes, at attempt \d+: RangeError: five is out of range \(.*plugins\/greet\/index\.ts:6:\d+\)$/,
    );
    break;
  }
  const [led, other] = await Promise.all(
    [serve, beside].map(async ({ url }) => (await (await fetch(`${url}/readyz?verbose`)).text()).split('\n')),
  );
  for (const name of ['namespaces', 'garbage-collector', 'event-expiry', 'model-roles', 'plugins'])
    expect(led).toContain(`[+]controller ${name} ok`);
  expect(led).toEqual(
    expect.arrayContaining([
      '[+]leader election ok',
      '[+]reconciles ok',
      '[!]plugin controllers failed, which does not count: reason withheld',
      'readyz check passed',
    ]),
  );
  expect(other!.filter((each) => each.includes('controller'))).toEqual([]);
});

test('a running version keeps its permissions until another replaces it, which has only its own', async () => {
  const permission = (resource: string): object => ({
    apiGroups: ['greet.example.com'],
    resources: [resource],
    verbs: ['get', 'list', 'watch'],
  });
  const write = async (version: string, permissions: object[], text: string): Promise<void> => {
    await put('index.ts', text);
    await put(
      'plugin.yaml',
      JSON.stringify({
        apiVersion: 'plugin.svc.run/v1alpha1',
        kind: 'Plugin',
        metadata: { name: 'greet' },
        spec: { version, enabled: true, permissions },
      }),
    );
  };
  const { program, url } = await start('serve');
  const allowed = async (): Promise<string> => {
    const { rules = [] } = (await (
      await fetch(`${url}/apis/rbac.authorization.k8s.io/v1/clusterroles/system:plugin:greet`, { headers: admin })
    ).json()) as { rules?: { resources: string[] }[] };
    return rules.flatMap(({ resources }) => resources).join();
  };
  const reading = (text: string): string =>
    module(text).replace(
      "async () => '",
      `async (_request, { client }) => (await client.list(Note, { limit: 1 })) && '`,
    );
  await write('5.0.0', [permission('notes')], reading('five'));
  const poll = new Poll(url);
  await poll.until('200 "five"');
  poll.answers.clear();

  await write('6.0.0', [permission('others')], module('never', "throw new Error('not today');"));
  await program.line('could not start a newer version of a plugin; the previous version keeps running');
  // Then all that the newer version's manifest changes is done.
  while (!(await allowed()).includes('others')) await pause(20);
  expect(await allowed()).toBe('others,notes');
  for (const seen = poll.count + 20; poll.count < seen;) await pause(20);
  await write('7.0.0', [permission('others')], module('seven'));
  await poll.until('200 "seven"');
  expect(await poll.stop()).toEqual(['200 "five"', '200 "seven"']);
  while ((await allowed()) !== 'others') await pause(20);
});
