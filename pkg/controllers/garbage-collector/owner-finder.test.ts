import { expect, test } from '@jest/globals';
import {
  foregroundFinalizer,
  newNotFound,
  newUnknownPath,
  orphanFinalizer,
  type AnyObject,
  type OwnerReference,
  type Reader,
  type ResourceType,
} from '#pkg/apimachinery/index';
import type { ServedTypes } from '../served-types/served-types.ts';
import { OwnerFinder, stateOf, type FoundOwner } from './owner-finder.ts';
import { OwnerStates, type OwnerId } from './owner-states.ts';

const typeOf = (kind: string, namespaced: boolean): ResourceType => ({
  group: 'test.example.com',
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced,
  hasStatusSubresource: false,
});
const site = typeOf('Site', false);
const page = typeOf('Page', true);
const referenceTo = (kind: string): OwnerReference => ({
  apiVersion: 'test.example.com/v1',
  kind,
  name: 'o',
  uid: 'u',
});
const never = new AbortController().signal;

interface Given {
  get?: Reader['get'];
  isGone?: boolean;
  states?: OwnerStates;
}

/** Serves sites and pages, and records the requests. */
function newFinder({
  get = () => Promise.reject(new Error('not asked')),
  isGone = false,
  states = new OwnerStates(),
}: Given = {}): { finder: OwnerFinder; asked: unknown[] } {
  const asked: unknown[] = [];
  const client = {
    get: (type: ResourceType, key: unknown) => (asked.push(type.kind, key), get(type, key as never)),
  } as unknown as Reader;
  const types = {
    ofKind: (group: string, kind: string) => [site, page].find((type) => type.group === group && type.kind === kind),
  } as unknown as ServedTypes;
  return { finder: new OwnerFinder({ client, types, states, isGone: () => isGone }), asked };
}

function owner(metadata: Partial<AnyObject['metadata']> = {}): AnyObject {
  return { apiVersion: 'test.example.com/v1', kind: 'Page', metadata: { name: 'o', uid: 'u', ...metadata } };
}

const find = (given: Given, kind = 'Page', dependent = page): Promise<FoundOwner> =>
  newFinder(given).finder.find(dependent, 'a', referenceTo(kind), never);
const answering =
  (object: AnyObject): Reader['get'] =>
  () =>
    Promise.resolve(object as never);

test('an owner is searched in the namespace of its dependent, and a cluster-scoped owner in none', async () => {
  const { finder, asked } = newFinder({ get: answering(owner()) });
  await finder.find(page, 'a', referenceTo('Page'), never);
  await finder.find(page, 'a', referenceTo('Site'), never);
  expect(asked).toEqual(['Page', { namespace: 'a', name: 'o' }, 'Site', { namespace: '', name: 'o' }]);
});

test("an object with the owner's name is the owner only if it has its uid", async () => {
  expect(await find({ get: answering(owner()) })).toBe('solid');
  expect(await find({ get: answering(owner({ uid: 'another' })) })).toBe('absent');
});

test('an owner is absent only if the API does not find its name, not if it does not find its type or namespace', async () => {
  const refusing =
    (refusal: Error): Reader['get'] =>
    () =>
      Promise.reject(refusal);
  expect(await find({ get: refusing(newNotFound({ group: page.group, resource: page.plural }, 'o')) })).toBe('absent');
  for (const error of [
    newUnknownPath(),
    newNotFound({ group: '', resource: 'namespaces' }, 'a'),
    newNotFound({ group: '', resource: 'namespaces' }, 'o'),
  ]) {
    await expect(find({ get: refusing(error) })).rejects.toBe(error);
  }
});

test('an owner of a kind that is not served is unknown, unless its deletion was observed', async () => {
  expect(await find({}, 'Gone')).toBe('unknown');
  expect(await find({ isGone: true }, 'Gone')).toBe('absent');
});

test('a cluster-scoped object cannot have an owner in a namespace', async () => {
  expect(await find({}, 'Page', site)).toBe('invalid');
});

test('a deletion event during a lookup overrides its answer', async () => {
  const states = new OwnerStates();
  const id: OwnerId = { group: page.group, kind: 'Page', namespace: 'a', name: 'o', uid: 'u' };
  const get: Reader['get'] = () => {
    states.note(id, 'absent');
    return Promise.resolve(owner() as never);
  };
  expect(await find({ get, states })).toBe('absent');
});

test('a known owner is not looked up', async () => {
  const { finder, asked } = newFinder({ get: answering(owner()) });
  const dependent = owner({ namespace: 'a', ownerReferences: [referenceTo('Page')] });
  expect(finder.areKnown(page, dependent)).toBe(false);
  await finder.find(page, 'a', referenceTo('Page'), never);
  await finder.find(page, 'a', referenceTo('Page'), never);
  expect(asked).toHaveLength(2);
  expect(finder.areKnown(page, dependent)).toBe(true);
  expect(finder.areKnown(page, owner({ namespace: 'b', ownerReferences: [referenceTo('Page')] }))).toBe(false);
});

test('an owner waits for its dependents only while it is deleted in the foreground, and orphaning comes first', () => {
  const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(stateOf(owner({ ...deleted, finalizers: [foregroundFinalizer] }), 'u')).toBe('waiting');
  expect(stateOf(owner({ ...deleted, finalizers: [foregroundFinalizer, orphanFinalizer] }), 'u')).toBe('solid');
  expect(stateOf(owner({ ...deleted, finalizers: ['x.example.com/hold'] }), 'u')).toBe('solid');
  expect(stateOf(owner({ finalizers: [foregroundFinalizer] }), 'u')).toBe('solid');
});
