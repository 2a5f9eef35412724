import { describe, expect, test } from '@jest/globals';
import type { AnyObject, ObjectMeta, Stored } from '#pkg/apimachinery/index';
import type { ObjectEvent } from '../event/object-event.ts';
import {
  and,
  annotationsChanged,
  deletionRequested,
  generationChanged,
  labelsChanged,
  not,
  or,
  resourceVersionChanged,
  type Predicate,
} from './predicate.ts';

function object(metadata: Partial<ObjectMeta> = {}): Stored<AnyObject> {
  return {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  };
}

function update(old: Partial<ObjectMeta>, metadata: Partial<ObjectMeta>): ObjectEvent {
  return { type: 'update', old: object(old), object: object(metadata) };
}

describe('a predicate of updates', () => {
  const cases: { reason: string; predicate: Predicate; event: ObjectEvent; worth: boolean }[] = [
    {
      reason: 'another generation',
      predicate: generationChanged,
      event: update({ generation: 1 }, { generation: 2 }),
      worth: true,
    },
    {
      reason: 'the same generation',
      predicate: generationChanged,
      event: update({ generation: 1 }, { generation: 1, resourceVersion: '2' }),
      worth: false,
    },
    {
      reason: 'another revision',
      predicate: resourceVersionChanged,
      event: update({}, { resourceVersion: '2' }),
      worth: true,
    },
    { reason: 'the same revision', predicate: resourceVersionChanged, event: update({}, {}), worth: false },
    {
      reason: 'another label',
      predicate: labelsChanged,
      event: update({ labels: { a: '1' } }, { labels: { a: '2' } }),
      worth: true,
    },
    {
      reason: 'the same labels in another order',
      predicate: labelsChanged,
      event: update({ labels: { a: '1', b: '2' } }, { labels: { b: '2', a: '1' } }),
      worth: false,
    },
    { reason: 'no labels, either way', predicate: labelsChanged, event: update({}, { labels: {} }), worth: false },
    {
      reason: 'the same letters, another key',
      predicate: labelsChanged,
      event: update({ labels: { a: 'bc' } }, { labels: { ab: 'c' } }),
      worth: true,
    },
    {
      reason: 'a removed label',
      predicate: labelsChanged,
      event: update({ labels: { a: '1', b: '2' } }, { labels: { a: '1' } }),
      worth: true,
    },
    {
      reason: 'another annotation is no label',
      predicate: labelsChanged,
      event: update({}, { annotations: { a: '1' } }),
      worth: false,
    },
    {
      reason: 'the same annotations',
      predicate: annotationsChanged,
      event: update({ annotations: { a: '1' } }, { annotations: { a: '1' }, resourceVersion: '2' }),
      worth: false,
    },
    {
      reason: 'another label is no annotation',
      predicate: annotationsChanged,
      event: update({}, { labels: { a: '1' } }),
      worth: false,
    },
    {
      reason: 'an added annotation',
      predicate: annotationsChanged,
      event: update({}, { annotations: { a: '1' } }),
      worth: true,
    },
    {
      reason: 'a deletion that starts',
      predicate: deletionRequested,
      event: update({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      worth: true,
    },
    {
      reason: 'a deletion in progress',
      predicate: deletionRequested,
      event: update({ deletionTimestamp: '2026-01-01T00:00:00Z' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      worth: false,
    },
    {
      reason: 'a create always passes',
      predicate: generationChanged,
      event: { type: 'create', object: object() },
      worth: true,
    },
    {
      reason: 'a delete always passes',
      predicate: labelsChanged,
      event: { type: 'delete', object: object(), isGuess: false },
      worth: true,
    },
  ];
  test.each(cases)('$reason', ({ predicate, event, worth }) => {
    expect(predicate(event)).toBe(worth);
  });
});

describe('predicates together', () => {
  const yes: Predicate = () => true;
  const no: Predicate = () => false;
  const event: ObjectEvent = { type: 'create', object: object() };
  test.each([
    ['and', and(yes, yes), true],
    ['and, one against', and(yes, no), false],
    ['and of none', and(), true],
    ['or', or(no, yes), true],
    ['or, none for', or(no, no), false],
    ['or of none', or(), false],
    ['not', not(no), true],
  ])('%s', (_, predicate, worth) => {
    expect(predicate(event)).toBe(worth);
  });
});
