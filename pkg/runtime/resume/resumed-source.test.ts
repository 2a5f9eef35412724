import { afterEach, expect, test } from '@jest/globals';
import { newExpired, type AnyObject, type ClientEvent, type ObjectList } from '#pkg/apimachinery/index';
import { Informer } from '../cache/informer.ts';
import { ScriptedApi, scriptedObject, scriptedType, type ScriptedWatch } from '../cache/scripted-api.ts';
import type { WatchDefinition } from '../definition/controller-definition.ts';
import { enqueueObject } from '../handler/event-handler.ts';
import { ResumedSource } from './resumed-source.ts';

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const expired: ScriptedWatch = { refusal: newExpired('too old') };
let informer: Informer<AnyObject>;
let source: ResumedSource;

afterEach(async () => {
  await source.stop();
  await informer.stop();
});

function listAt(revision: number, ...objects: [string, number][]): ObjectList<AnyObject> {
  return { resourceVersion: String(revision), items: objects.map(([name, at]) => scriptedObject(name, at)) };
}

/**
 * The requests since its start: each name with its revision. The cache follows `cached`; missed events come from
 * `history`.
 */
async function started(
  position: bigint | undefined,
  cached: ScriptedApi,
  history: ScriptedApi,
  watch: Partial<WatchDefinition> = {},
): Promise<string[]> {
  const asked: string[] = [];
  informer = new Informer({ client: cached.client, type: scriptedType, log, backoff: { baseMs: 1, maxMs: 10 } });
  const whole: WatchDefinition = {
    type: scriptedType,
    selection: {},
    handler: enqueueObject,
    predicates: [],
    ...watch,
  };
  source = new ResumedSource({
    informer,
    watch: whole,
    client: history.client,
    log,
    position: () => Promise.resolve(position),
    onLost: () => asked.push('everything'),
  });
  informer.start();
  expect(
    await source.start(
      ({ name }, { revision } = {}) => asked.push(`${name} ${revision ?? 'of old'}`),
      new AbortController().signal,
    ),
  ).toBe(true);
  return asked;
}

const open: ScriptedWatch = { end: 'open' };

test('of existing objects it enqueues those that are newer than the position', async () => {
  const asked = await started(
    5n,
    new ScriptedApi({ lists: [listAt(9, ['older', 3], ['same', 5], ['newer', 6])], watches: [open] }),
    new ScriptedApi({ watches: [open] }),
  );
  expect(asked).toEqual(['newer 6']);
  expect(source.from).toBe(5n);
});

test('without a position it enqueues all', async () => {
  const asked = await started(
    undefined,
    new ScriptedApi({ lists: [listAt(9, ['a', 3], ['b', 6])], watches: [open] }),
    new ScriptedApi({}),
  );
  expect(asked).toEqual(['a of old', 'b of old']);
});

test('it enqueues what was deleted since the position, and nothing that its predicates refuse', async () => {
  const deleted = (name: string, revision: number): ClientEvent<AnyObject> => ({
    type: 'DELETED',
    object: scriptedObject(name, revision),
  });
  const history = new ScriptedApi({
    watches: [
      { events: [deleted('gone', 7), deleted('refused', 8), { type: 'BOOKMARK', resourceVersion: '9' }], end: 'open' },
    ],
  });
  const asked = await started(
    5n,
    new ScriptedApi({ lists: [listAt(9, ['refused-too', 6])], watches: [open] }),
    history,
    { predicates: [({ object }) => !object.metadata.name.startsWith('refused')] },
  );
  // It reaches the cache's revision when all missed events are reported.
  while (source.revision !== 9n) await new Promise(setImmediate);
  expect(asked).toEqual(['gone 7']);
});

test('a deletion that only a list shows counts for the revision after the one of the cache: the position does not pass it', async () => {
  const cached = new ScriptedApi({ lists: [listAt(9, ['gone', 6]), listAt(12)], watches: [expired, open] });
  const asked = await started(9n, cached, new ScriptedApi({}));
  await informer.waitUntil(() => informer.revision >= 12n);
  expect(asked).toEqual(['gone 10']);
});

test('after its stop it keeps its position, although its cache continues', async () => {
  await started(
    9n,
    new ScriptedApi({ lists: [listAt(9), listAt(12, ['a', 11])], watches: [expired, open] }),
    new ScriptedApi({}),
  );
  await source.stop();
  const end = source.revision;
  await informer.waitUntil(() => informer.revision >= 12n);
  expect(source.revision).toBe(end);
});
