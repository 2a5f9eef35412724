import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { Client } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';
import { controllerFor, leaseType, TerminalError, type ControllerDefinition, type Source } from '#pkg/runtime/index';
import { definePosts, newPost, postType, startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { waitMs, pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { platformControllers, type PlatformControllers } from './platform-controllers.ts';

const log = pino({ level: 'silent' });
const builtin = [
  'namespaces',
  'garbage-collector',
  'event-expiry',
  'model-roles',
  'role-aggregation',
  'plugin-roles',
  'plugin-impersonator',
];
const sound = controllerFor(postType)
  .named('plugins')
  .reconcile(async () => undefined);

let env: TestEnv;
let client: Client;
let running: PlatformControllers[] = [];
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await definePosts(env);
});
afterEach(async () => {
  await Promise.all(running.map((each) => each.stop()));
  running = [];
});
afterAll(() => env.stop());

function start(controller: ControllerDefinition, { as = client, troubled = [] as string[] } = {}): PlatformControllers {
  const controllers = platformControllers({
    client: as,
    log,
    host: { controller, unhealthyPlugins: () => troubled, tasks: () => [], onTasks: () => undefined },
    stopTimeoutMs: 10_000,
  });
  running.push(controllers);
  controllers.start();
  return controllers;
}

/** The result of each check, by name. */
async function read({ readyz }: PlatformControllers): Promise<Record<string, string>> {
  const said = readyz.map(async (each) => [
    each.name,
    await each.check(new AbortController().signal).then(
      (word) => word ?? 'ok',
      (error: Error) => `failed: ${error.message}`,
    ),
  ]);
  return Object.fromEntries(await Promise.all(said)) as Record<string, string>;
}

/** All checks, with the same result for each controller. */
function allOf(word: string): Record<string, string> {
  return {
    'leader election': word,
    ...Object.fromEntries([...builtin, 'plugins'].map((name) => [`controller ${name}`, word])),
    reconciles: 'ok',
    'plugin controllers': 'ok',
  };
}

async function untilSaid(controllers: PlatformControllers, expected: Record<string, string>): Promise<void> {
  await pollUntil(
    async () => Object.entries(await read(controllers)).every(([name, said]) => said === expected[name]),
    waitMs(),
    `checks that say ${JSON.stringify(expected)}`,
  );
  expect(await read(controllers)).toEqual(expected);
}

test('when one of two stops, the other runs all controllers', async () => {
  const first = start(sound);
  await untilSaid(first, allOf('ok'));
  const second = start(sound);
  await first.stop();
  await untilSaid(second, allOf('ok'));
  expect(await read(first)).toEqual(allOf('stands by'));
});

test('a controller that is still reading existing objects is starting', async () => {
  const slow: Source = {
    start: (_enqueue, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(false))),
    stop: () => undefined,
  };
  const controllers = start({ ...sound, begin: () => ({ ...sound.begin(), sources: [slow] }) });
  await untilSaid(controllers, { ...allOf('ok'), 'controller plugins': 'starts' });
});

test('a controller that cannot be built fails, and the others run', async () => {
  const broken: ControllerDefinition = {
    ...sound,
    begin: () => {
      throw new Error('broken');
    },
  };
  await untilSaid(start(broken), { ...allOf('ok'), 'controller plugins': 'failed: broken' });
});

test('a failing election is reported, and the controllers stand by', async () => {
  const refusing = wrapClient(client, {
    create: (type, ...more) =>
      type.plural === leaseType.plural
        ? Promise.reject(new Error('leases are forbidden'))
        : client.create(type, ...more),
  });
  await untilSaid(start(sound, { as: refusing }), {
    ...allOf('stands by'),
    'controller plugins': 'ok',
    'leader election': 'failed: leases are forbidden',
  });
});

test('failing reconciles are counted until they succeed, with the last as the reason', async () => {
  let isBroken = true;
  const failing = controllerFor(postType)
    .named('plugins')
    .reconcile(async ({ name }) => {
      if (isBroken && name === 'unlucky') throw new TerminalError('out of luck');
    });
  const controllers = start(failing);
  const unlucky = await client.create(postType, newPost('unlucky'));
  await untilSaid(controllers, {
    ...allOf('ok'),
    reconciles: 'failed: 1 objects fail; the last of controller plugins: /unlucky, attempt 1',
  });
  const check = controllers.readyz.find(({ name }) => name === 'reconciles')!;
  await expect(check.check(new AbortController().signal)).rejects.toMatchObject({
    cause: new TerminalError('out of luck'),
  });
  isBroken = false;
  await client.update(postType, { ...unlucky, spec: { ...unlucky.spec!, title: 'lucky' } });
  await untilSaid(controllers, allOf('ok'));
});

test('plugins with failing controllers are named', async () => {
  await untilSaid(start(sound, { troubled: ['blog', 'shop'] }), {
    ...allOf('ok'),
    'plugin controllers': 'failed: controllers of plugins are in trouble: blog, shop',
  });
});

test('each check is shown, and does not affect readiness', () => {
  expect(start(sound).readyz.map(({ isInformative }) => isInformative)).toEqual(Object.keys(allOf('')).map(() => true));
});
