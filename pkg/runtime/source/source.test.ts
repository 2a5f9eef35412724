import { afterEach, expect, test } from '@jest/globals';
import type { AnyObject, ClientEvent } from '#pkg/apimachinery/index';
import { Informer } from '../cache/informer.ts';
import { ScriptedApi, scriptedObject, scriptedType } from '../cache/scripted-api.ts';
import { enqueueObject } from '../handler/event-handler.ts';
import type { Predicate } from '../predicate/predicate.ts';
import { informerSource } from './source.ts';

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
let informer: Informer<AnyObject>;

afterEach(() => informer.stop());

const modified = (name: string, revision: number): ClientEvent<AnyObject> => ({
  type: 'MODIFIED',
  object: scriptedObject(name, revision),
});
const nameIsNot =
  (name: string): Predicate =>
  ({ object }) =>
    object.metadata.name !== name;

/** The requests until the cache is at revision 9, for existing and for changed objects. */
async function askedFor(...predicates: Predicate[]): Promise<string[]> {
  const list = { resourceVersion: '3', items: ['a', 'b', 'c'].map((name, i) => scriptedObject(name, i + 1)) };
  const api = new ScriptedApi({
    lists: [list],
    watches: [{ events: [modified('a', 7), modified('b', 8), modified('c', 9)], end: 'open' }],
  });
  informer = new Informer({ client: api.client, type: scriptedType, log });
  const asked: string[] = [];
  const source = informerSource(informer, enqueueObject, predicates);
  const starting = source.start(({ name }) => asked.push(name), new AbortController().signal);
  informer.start();
  expect(await starting).toBe(true);
  await informer.waitUntil(() => informer.revision >= 9n);
  await source.stop();
  return asked;
}

test.each<[string, Predicate[], string[]]>([
  ['without predicates every event enqueues', [], ['a', 'b', 'c', 'a', 'b', 'c']],
  ['an event that a predicate refuses does not', [nameIsNot('a')], ['b', 'c', 'b', 'c']],
  ['all predicates must agree', [nameIsNot('a'), nameIsNot('c')], ['b', 'b']],
  ['predicates receive the event', [({ type }) => type === 'update'], ['a', 'b', 'c']],
])('%s', async (_, predicates, asked) => {
  expect(await askedFor(...predicates)).toEqual(asked);
});
