import { expect, test } from '@jest/globals';
import type { AnyObject, Client, ResourceType } from '#pkg/apimachinery/index';
import { waitMs, pollUntil } from '../../testenv/faults/poll-until.ts';
import {
  ChannelSource,
  controllerFor,
  Manager,
  type ControllerDefinition,
  type ControllerTerm,
  type Log,
  type Source,
} from '../index.ts';

const post: ResourceType = {
  group: 'test.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: false,
  hasStatusSubresource: true,
};

function definitionOf(name: string, begin: () => ControllerTerm): ControllerDefinition {
  return { name, watches: [], indexes: [], tuning: {}, begin };
}

/** A source with one request. */
function asking(): Source {
  const channel = new ChannelSource();
  return {
    start: async (enqueue) => {
      await channel.start(enqueue);
      channel.push({ namespace: '', name: 'a' });
      return true;
    },
    stop: () => channel.stop(),
  };
}

function startManager(
  controllers: readonly ControllerDefinition[],
  stopTimeoutMs = 20_000,
): { manager: Manager; logged: string[] } {
  const logged: string[] = [];
  const error = (_details: object, message: string): void => void logged.push(message);
  const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error };
  const manager = new Manager({ client: {} as Client, log, controllers, stopTimeoutMs });
  manager.start();
  return { manager, logged };
}

const failures: [string, (isFirst: boolean) => ControllerTerm][] = [
  [
    'begin throws',
    (isFirst) => {
      if (isFirst) throw new Error('broken');
      return { sources: [asking()], reconcile: async () => undefined };
    },
  ],
  [
    'a source rejects',
    (isFirst) => ({
      sources: [isFirst ? { start: () => Promise.reject(new Error('broken')), stop: () => undefined } : asking()],
      reconcile: async () => undefined,
    }),
  ],
  [
    'a source throws, and another rejects later, and the first cannot be stopped',
    (isFirst) => ({
      sources: isFirst
        ? [
            {
              start: () => new Promise((_resolve, reject) => setImmediate(() => reject(new Error('late')))),
              stop: () => undefined,
            },
            {
              start: () => {
                throw new Error('broken');
              },
              stop: () => {
                throw new Error('stuck');
              },
            },
          ]
        : [asking()],
      reconcile: async () => undefined,
    }),
  ],
];

test.each(failures)(
  'a failing controller is reported, does not affect the others, and is retried: %s',
  async (_case, turn) => {
    let begun = 0;
    const broken = definitionOf('broken', () => {
      begun += 1;
      return turn(begun === 1);
    });
    let reconcileCount = 0;
    const { manager, logged } = startManager([
      broken,
      definitionOf('sound', () => ({ sources: [asking()], reconcile: async () => void (reconcileCount += 1) })),
    ]);
    await pollUntil(
      () => reconcileCount > 0 && manager.controllers.every(({ state }) => state !== 'starting'),
      waitMs(),
      'a look of the sound controller, and a failure of the broken one',
    );
    expect(manager.controllers).toEqual([
      { name: 'broken', state: 'failed', problem: new Error('broken') },
      { name: 'sound', state: 'running' },
    ]);
    expect(manager.running).toEqual(['sound']);
    await pollUntil(
      () => manager.controllers.every(({ state }) => state === 'running'),
      waitMs(),
      'both controllers to run',
    );
    expect(begun).toBe(2);
    await manager.stop();
    expect(logged.filter((each) => each === 'could not start a controller; retrying')).toHaveLength(1);
    expect(manager.controllers).toEqual([
      { name: 'broken', state: 'waiting' },
      { name: 'sound', state: 'waiting' },
    ]);
  },
);

test('a manager stops while one controller waits for a retry, and another never starts', async () => {
  const never: Source = { start: () => new Promise(() => undefined), stop: () => undefined };
  const throwing = definitionOf('throwing', () => {
    throw new Error('broken');
  });
  const { manager, logged } = startManager(
    [throwing, definitionOf('never', () => ({ sources: [never], reconcile: async () => undefined }))],
    10,
  );
  await pollUntil(() => manager.controllers[0]!.state === 'failed', waitMs(), 'the throwing controller to fail');
  await manager.stop();
  expect(logged).toEqual([
    'could not start a controller; retrying',
    'reconciles did not end in time; stopping without waiting for them',
  ]);
});

const one = (object: AnyObject): string[] => [object.kind];
const other = (object: AnyObject): string[] => [object.apiVersion];
const indexed = (name: string, ...indexes: ((object: AnyObject) => string[])[]): ControllerDefinition =>
  indexes
    .reduce((builder, valuesOf) => builder.withIndex(post, 'tag', valuesOf), controllerFor(post).named(name))
    .reconcile(async () => undefined);

test.each<[string, ControllerDefinition[], string | undefined]>([
  ['two controllers of one name', [indexed('a'), indexed('a')], 'there are two controllers named a'],
  [
    'two indexes of one name',
    [indexed('a', one, other)],
    'the controller a has two different indexes named tag of posts.test.example.com: they share a cache, so each index needs a name of its own, or the same function',
  ],
  [
    'two indexes of one name in two controllers',
    [indexed('a', one), indexed('b', other)],
    'the controllers a and b have two different indexes named tag of posts.test.example.com',
  ],
  ['one index in two controllers', [indexed('a', one), indexed('b', one)], undefined],
])('%s', (_case, controllers, message) => {
  const make = (): Manager =>
    new Manager({ client: {} as Client, log: { debug() {}, info() {}, warn() {}, error() {} }, controllers });
  if (message === undefined) expect(make().running).toEqual([]);
  else expect(make).toThrow(message);
});
