import { describe, expect, test } from '@jest/globals';
import type { ObjectMeta } from '#pkg/apimachinery/index';
import { isSameObject } from './convert-object.ts';
import {
  generatedName,
  changedObjectMeta,
  newObjectMeta,
  statusObjectMeta,
  terminatingObjectMeta,
} from './object-meta-fields.ts';

const old: ObjectMeta = {
  name: 'a',
  uid: 'u',
  resourceVersion: '7',
  generation: 3,
  creationTimestamp: '2026-01-01T00:00:00Z',
  labels: { old: 'yes' },
  managedFields: [{ manager: 'old' }],
};
const sent: ObjectMeta = {
  name: 'b',
  generateName: 'g-',
  uid: 'mine',
  resourceVersion: '1',
  generation: 9,
  creationTimestamp: '2001-01-01T00:00:00Z',
  deletionTimestamp: '2001-01-01T00:00:00Z',
  deletionGracePeriodSeconds: 5,
  labels: {},
  annotations: { a: 'b' },
  finalizers: [],
  managedFields: [{ manager: 'me' }],
};

describe('metadata of', () => {
  test('a new object: the client sets what it may, and the server sets the rest', () => {
    expect(newObjectMeta(sent, { name: 'g-x', namespace: 'ns', now: 1_000_999 })).toEqual({
      name: 'g-x',
      generateName: 'g-',
      namespace: 'ns',
      uid: expect.any(String),
      generation: 1,
      creationTimestamp: '1970-01-01T00:16:40Z',
      annotations: { a: 'b' },
      managedFields: [{ manager: 'me' }],
    });
  });

  test('a changed one: system fields are the old ones, and empty fields are removed', () => {
    const { name, uid, generation, creationTimestamp } = old;
    expect(changedObjectMeta(sent, old)).toEqual({
      name,
      uid,
      generation,
      creationTimestamp,
      annotations: { a: 'b' },
      managedFields: [{ manager: 'me' }],
    });
    expect(changedObjectMeta({ name: 'a' }, old).managedFields).toEqual(old.managedFields);
    expect(changedObjectMeta({ name: 'a', managedFields: [] }, old)).not.toHaveProperty('managedFields');
  });

  test('one whose status changes: the old metadata except managedFields', () => {
    expect(statusObjectMeta(sent, old)).toMatchObject({
      labels: { old: 'yes' },
      managedFields: [{ manager: 'me' }],
      generation: 3,
    });
    expect(statusObjectMeta(sent, old)).not.toHaveProperty('annotations');
  });

  test('one that is being deleted', () => {
    expect(terminatingObjectMeta(old, 2_500)).toMatchObject({
      generation: 4,
      deletionTimestamp: '1970-01-01T00:00:02Z',
      deletionGracePeriodSeconds: 0,
      labels: { old: 'yes' },
    });
  });
});

describe('isSameObject', () => {
  const object = {
    kind: 'Post',
    metadata: { name: 'a', managedFields: [{ manager: 'm', time: '1' }] },
    spec: { a: 1, b: [1, 2] },
  };

  test.each([
    [
      'the order of keys',
      {
        spec: { b: [1, 2], a: 1 },
        metadata: { managedFields: [{ time: '1', manager: 'm' }], name: 'a' },
        kind: 'Post',
      },
      true,
    ],
    ['the revision', { ...object, metadata: { ...object.metadata, resourceVersion: '7' } }, true],
    [
      'times in managedFields',
      { ...object, metadata: { name: 'a', managedFields: [{ manager: 'm', time: '2' }] } },
      true,
    ],
    ['a manager', { ...object, metadata: { name: 'a', managedFields: [{ manager: 'n', time: '1' }] } }, false],
    ['the order of a list', { ...object, spec: { a: 1, b: [2, 1] } }, false],
    ['a field that is null', { ...object, status: null }, false],
  ])('%s', (_reason, other, same) => {
    expect(isSameObject(object, other)).toBe(same);
  });
});

describe('generatedName', () => {
  test.each([
    ['post-', /^post-[bcdfghjklmnpqrstvwxz2456789]{5}$/],
    ['x'.repeat(253), /^x{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/],
  ])('adds five characters and stays within 63', (prefix, form) => {
    expect(generatedName(prefix)).toMatch(form);
  });
});
