import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Client } from '#pkg/apimachinery/index';
import { TestPlugins } from './start-test-plugin.ts';

/** Never called here. */
const client = {} as Client;
const plugin = `import { definePlugin, defineEndpoint } from '@svc/sdk';\n`;
const empty = `${plugin}export default definePlugin({});\n`;

let plugins: TestPlugins;
beforeAll(async () => {
  plugins = await TestPlugins.begin(client);
});
afterAll(() => plugins.stop());

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('a module that cannot be loaded', () => {
  test.each<[string, string, string, string | RegExp]>([
    [
      'throws',
      `throw new TypeError('no way');`,
      'ModuleFailed',
      /^the module could not be loaded: TypeError: no way \(\/.*\/index\.ts:1:\d+\)$/,
    ],
    ['throws no error', `throw 'a text';`, 'ModuleFailed', 'it threw "a text"'],
    [
      'throws what cannot be shown',
      `throw { get message() { throw 1; } };`,
      'ModuleFailed',
      'it threw something that cannot be shown',
    ],
    [
      'imports what the SDK lacks',
      `import * as sdk from '@svc/sdk'; import { noSuchThing } from '@svc/sdk'; console.log(noSuchThing); export default sdk;`,
      'ModuleFailed',
      "'@svc/sdk' does not provide an export named 'noSuchThing'",
    ],
    [
      'exports nothing',
      `export const a = 1;`,
      'DefinitionInvalid',
      'the module has no default export; it must end with: export default definePlugin',
    ],
    [
      'exports a function',
      `export default () => 1;`,
      'DefinitionInvalid',
      'the default export of the module is a function, not a plugin',
    ],
    [
      'exports an object of its own',
      `export default { models: [] };`,
      'DefinitionInvalid',
      'the default export of the module has no list of controllers: it was not made by definePlugin',
    ],
    [
      'has a controller without an end',
      `import { definePlugin, controllerFor } from '@svc/sdk'; export default definePlugin({ controllers: [controllerFor({ plural: 'posts' } as any).named('a')] as any });`,
      'DefinitionInvalid',
      'controllers[0] is not finished: it must end with .reconcile(...)',
    ],
    [
      'has two indexes of one name',
      `import { definePlugin, controllerFor } from '@svc/sdk'; const type = { group: 'a.example.com', version: 'v1', plural: 'posts' } as any; export default definePlugin({ controllers: [controllerFor(type).named('a').withIndex(type, 'tag', () => []).reconcile(async () => undefined), controllerFor(type).named('b').withIndex(type, 'tag', () => ['x']).reconcile(async () => undefined)] });`,
      'DefinitionInvalid',
      'the controllers a and b have two different indexes named tag of posts.a.example.com',
    ],
    [
      'has an invalid model',
      `${plugin}export default { models: [{}], controllers: [], endpoints: [] };`,
      'DefinitionInvalid',
      'models[0] is another object, not what defineModel gives',
    ],
    [
      'has two endpoints with one path',
      `${plugin}const e = (path: string) => defineEndpoint({ audience: 'uc', group: 'a.example.com', version: 'v1', method: 'GET', path, handler: async () => 1 }); export default definePlugin({ endpoints: [e('/a/{x}'), e('/a/{y}')] });`,
      'DefinitionInvalid',
      'matches the same paths as',
    ],
    [
      'has an invalid path',
      `${plugin}export default definePlugin({ endpoints: [defineEndpoint({ audience: 'uc', group: 'a.example.com', version: 'v1', method: 'GET', path: 'a', handler: async () => 1 })] });`,
      'DefinitionInvalid',
      'must begin with a slash',
    ],
    ['ends the thread', `process.exit(3);`, 'Exited', 'it ended its own thread: process.exit(3)'],
    [
      'never ends to load',
      `await new Promise(() => undefined);`,
      'StartTimedOut',
      'the module was not loaded within 1 s (spec.limits.startSeconds)',
    ],
    [
      'throws later, while it loads',
      `setTimeout(() => { throw new Error('later'); }, 1); await new Promise(() => undefined);`,
      'Threw',
      'Error: later',
    ],
  ])('%s', async (_case, code, reason, message) => {
    const start = plugins.start(code, reason === 'StartTimedOut' ? { limits: { startSeconds: 1 } } : {});
    await expect(start).rejects.toMatchObject({
      name: 'PluginError',
      reason,
      message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
    });
  });

  test('a start that is aborted', async () => {
    const abort = new AbortController();
    const start = plugins.start(`await new Promise(() => undefined);`, { signal: abort.signal });
    abort.abort();
    await expect(start).rejects.toMatchObject({ reason: 'Timeout' });
  });
});

describe('a plugin that', () => {
  test.each<[string, string, string, string]>([
    ['throws', `setTimeout(() => { throw new RangeError('too far'); }, 1);`, 'Threw', 'RangeError: too far'],
    ['forgets a promise', `void Promise.reject(new Error('forgotten'));`, 'Threw', 'Error: forgotten'],
    ['rejects with nothing', `setTimeout(() => void Promise.reject(undefined), 1);`, 'Threw', 'undefined'],
    ['ends its thread', `setTimeout(() => process.exit(0), 1);`, 'Exited', 'process.exit(0)'],
    [
      'loops',
      `setTimeout(() => { for (;;); }, 1);`,
      'Blocked',
      'it was busy with one thing for 1 s (spec.limits.blockedSeconds)',
    ],
    [
      'waits without end',
      `setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0), 1);`,
      'Blocked',
      'it was busy',
    ],
    [
      'calls itself without end',
      `const f = (): number => f() + 1; setTimeout(f, 1);`,
      'Threw',
      'Maximum call stack size exceeded',
    ],
  ])('%s crashes alone', async (_case, code, reason, message) => {
    const worker = await plugins.start(empty + code, { limits: { blockedSeconds: reason === 'Blocked' ? 1 : 30 } });
    const crash = await worker.ended;
    expect(crash.reason).toBe(reason);
    expect(crash.message).toContain(message);
    await worker.stop(1000);
  });

  // Without our limit V8 would end the process for some of these.
  test.each<[string, string]>([
    [
      'a list that grows',
      `const list: number[] = []; setInterval(() => { for (let i = 0; i < 1e5; i += 1) list.push(i + 0.5); });`,
    ],
    ['a Map that grows', `const map = new Map(); for (let i = 0; ; i += 1) map.set(i, i);`],
    ['closures', `let f: unknown; for (;;) { const g = f; f = () => g; }`],
    ['buffers, bit by bit', `const list: Buffer[] = []; setInterval(() => list.push(Buffer.alloc(10e6, 1)), 10);`],
    [
      'promises',
      `const list: unknown[] = []; void (async () => { for (;;) { list.push(new Array(100).fill(1)); await null; } })();`,
    ],
  ])('allocates memory by %s crashes alone', async (_case, code) => {
    const worker = await plugins.start(`${empty}setTimeout(() => { ${code} }, 1);`);
    expect(await worker.ended).toEqual({
      reason: 'OutOfMemory',
      message: 'it took more than 64 MiB of memory (spec.limits.memoryMiB), and was ended',
    });
  });

  test('makes much garbage continues', async () => {
    const worker = await plugins.start(`${empty}let kept: unknown[] = [];
      const end = Date.now() + 1500;
      while (Date.now() < end) { kept = []; for (let i = 0; i < 100_000; i += 1) kept.push({ i }); }
      console.log('done', kept.length);`);
    await until(() => plugins.logged(/^done 100000$/).length === 1);
    await worker.stop(1000);
  });
});

test('its output is logged, line by line, up to a limit', async () => {
  const worker = await plugins.start(`${empty}
    console.log('one\\ntwo');
    process.stderr.write('no end of line');
    console.log('x'.repeat(10_000));
    for (let i = 0; i < 5000; i += 1) console.log('many', i);
    setInterval(() => console.log('last'), 100);`);
  await until(() => plugins.logged(/^last$/).length > 0);
  await worker.stop(1000);
  expect(plugins.logged(/^(?:one|two)$/)).toMatchObject([
    { level: 'info', details: { plugin: 'test', stream: 'stdout' } },
    { level: 'info' },
  ]);
  expect(plugins.logged(/^no end of line$/)).toMatchObject([{ level: 'warn', details: { stream: 'stderr' } }]);
  expect(plugins.logged(/^x{4096}\.\.\.$/)).toHaveLength(1);
  const many = plugins.logged(/^many/).length;
  expect(many).toBeGreaterThan(300);
  expect(many).toBeLessThan(1500);
  const dropped = plugins.logged(/printed too fast/).map(({ details }) => Number(details['dropped']));
  // If this process was paused, some of the last ones too.
  expect(dropped.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(5000 - many);
});

test('it sees its own environment and nothing of the host', async () => {
  const worker = await plugins.start(
    `${empty}import { workerData } from 'node:worker_threads';
    process.stdin.on('end', () => console.log('seen', JSON.stringify({ env: process.env, argv: process.argv.slice(2), execArgv: process.execArgv, workerData, stdin: 'closed' }))).resume();`,
    { environment: { TZ: 'UTC', A: 'b' } },
  );
  await until(() => plugins.logged(/^seen/).length === 1);
  expect(JSON.parse(plugins.logged(/^seen/)[0]!.message.slice(5))).toEqual({
    env: { TZ: 'UTC', A: 'b' },
    argv: [],
    execArgv: [],
    workerData: {},
    stdin: 'closed',
  });
  await worker.stop(1000);
});

test('messages that it sends by the port of its thread are ignored', async () => {
  const emit = jest.spyOn(Worker.prototype, 'emit');
  const worker = await plugins.start(`${empty}import { parentPort } from 'node:worker_threads';
    for (let i = 0; i < 1000; i += 1) parentPort!.postMessage('x'.repeat(1000));
    console.log('posted');`);
  await until(() => plugins.logged(/^posted$/).length === 1);
  await worker.stop(1000);
  expect(emit.mock.calls.filter(([event]) => (event as string) === 'message')).toEqual([]);
  emit.mockRestore();
});

test('a stop has a timeout, and is not a crash', async () => {
  const worker = await plugins.start(
    `${plugin}export default definePlugin({ endpoints: [defineEndpoint({ audience: 'uc', group: 'a.example.com', version: 'v1', method: 'GET', path: '/a', handler: () => new Promise(() => undefined) })] });`,
  );
  const call = worker.call(
    {
      plugin: 'test',
      operationId: 'getA',
      endpoint: 'GET /apis/uc.api.a.example.com/v1/a',
      params: {},
      query: '',
      user: { name: 'a', uid: '', groups: [] },
      requestId: 'r',
    },
    new AbortController().signal,
  );
  const outcome = expect(call).rejects.toMatchObject({ code: 503 });
  const crashes: unknown[] = [];
  void worker.ended.then((crash) => crashes.push(crash));
  await Promise.all([worker.stop(50), worker.stop(5000)]);
  await outcome;
  await expect(
    worker.call(
      {
        plugin: 'test',
        operationId: 'getA',
        endpoint: 'GET /apis/uc.api.a.example.com/v1/a',
        params: {},
        query: '',
        user: { name: 'a', uid: '', groups: [] },
        requestId: 'r',
      },
      new AbortController().signal,
    ),
  ).rejects.toMatchObject({ code: 503 });
  expect(plugins.logged(/did not stop in time/)).toHaveLength(1);
  expect(crashes).toEqual([]);
});

test('starts and stops leave nothing', async () => {
  const bundle = await plugins.bundle(empty);
  const counts = (): Record<string, number> =>
    Object.fromEntries(
      ['MessagePort', 'Worker', 'Timeout', 'Immediate'].map((name) => [
        name,
        process.getActiveResourcesInfo().filter((each) => each === name).length,
      ]),
    );
  const one = async (i: number): Promise<void> => {
    const worker = await plugins.start(bundle);
    if (i % 3 > 0) await worker.runControllers();
    await worker.stop(i % 2 === 0 ? 5000 : 0);
  };
  await one(0);
  const before = counts();
  const listeners = process.eventNames().map((name) => process.listenerCount(name));
  for (let i = 0; i < 6; i += 1) await one(i);
  expect(counts()).toEqual(before);
  expect(process.eventNames().map((name) => process.listenerCount(name))).toEqual(listeners);
});
