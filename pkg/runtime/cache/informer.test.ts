import { getEventListeners } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { newExpired, type AnyObject, type ClientEvent, type ObjectList } from '#pkg/apimachinery/index';
import { Informer } from './informer.ts';
import { ScriptedApi, scriptedObject, scriptedType, type ScriptedWatch } from './scripted-api.ts';

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
let informer: Informer<AnyObject>;

afterEach(() => informer.stop());

function listAt(revision: number, ...items: AnyObject[]): ObjectList<AnyObject> {
  return { resourceVersion: String(revision), items: items as ObjectList<AnyObject>['items'] };
}

/** The events that listeners get until the cache is at `revision`. */
async function heardUntil(revision: bigint, api: ScriptedApi): Promise<string[]> {
  const texts: string[] = [];
  informer = new Informer({ client: api.client, type: scriptedType, log, backoff: { baseMs: 1, maxMs: 10 } });
  informer.listen((event) =>
    texts.push(
      `${event.type} ${event.object.metadata.name} ${event.object.metadata.resourceVersion}${event.type === 'delete' && event.isGuess ? ' by a guess' : ''}`,
    ),
  );
  informer.start();
  await informer.waitUntil(() => informer.revision >= revision);
  return texts;
}

const event = (type: 'ADDED' | 'MODIFIED' | 'DELETED', revision: number, name = 'a'): ClientEvent<AnyObject> => ({
  type,
  object: scriptedObject(name, revision),
});
const expired: ScriptedWatch = { refusal: newExpired('too old') };

test('a second list reports what was changed, deleted and recreated, and nothing else', async () => {
  const before = [
    scriptedObject('same', 1),
    scriptedObject('changed', 2),
    scriptedObject('gone', 3),
    scriptedObject('anew', 4, 'uid-1'),
  ];
  const after = [scriptedObject('same', 1), scriptedObject('changed', 6), scriptedObject('anew', 7, 'uid-2')];
  const texts = await heardUntil(
    9n,
    new ScriptedApi({ lists: [listAt(5, ...before), listAt(9, ...after)], watches: [expired, { end: 'open' }] }),
  );
  expect(texts.slice(0, 4)).toEqual(
    before.map(({ metadata }) => `create ${metadata.name} ${metadata.resourceVersion}`),
  );
  expect(texts.slice(4)).toEqual([
    'update changed 6',
    'delete anew 4 by a guess',
    'create anew 7',
    'delete gone 3 by a guess',
  ]);
});

test('a reported deletion is not marked as unknown', async () => {
  const texts = await heardUntil(
    3n,
    new ScriptedApi({
      lists: [listAt(1)],
      watches: [{ events: [event('ADDED', 2), event('DELETED', 3)], end: 'open' }],
    }),
  );
  expect(texts).toEqual(['create a 2', 'delete a 3']);
});

test('a bookmark advances the revision, and is not reported to listeners', async () => {
  expect(
    await heardUntil(
      9n,
      new ScriptedApi({
        lists: [listAt(1)],
        watches: [{ events: [{ type: 'BOOKMARK', resourceVersion: '9' }], end: 'open' }],
      }),
    ),
  ).toEqual([]);
});

test('the revision does not go back when a lagging server sends a list', async () => {
  const api = new ScriptedApi({
    lists: [listAt(9), listAt(5)],
    watches: [expired, { events: [event('ADDED', 6), event('ADDED', 10, 'b')], end: 'open' }],
  });
  const seen: bigint[] = [];
  const following = heardUntil(10n, api);
  informer.listen(() => seen.push(informer.revision));
  await following;
  expect(seen).toEqual([9n, 9n]);
});

test('a waiter is notified of the end, and leaves no listener on its signal', async () => {
  const api = new ScriptedApi({ lists: [listAt(1)], watches: [{ end: 'open' }] });
  await heardUntil(1n, api);
  const { signal } = new AbortController();
  const waiting = informer.waitUntil(() => false, signal);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await informer.stop();
  expect(await waiting).toBe(false);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
