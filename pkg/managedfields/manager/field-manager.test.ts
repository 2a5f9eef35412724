import { describe, expect, test } from '@jest/globals';
import {
  ApplyConflict,
  type ApiObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  StatusError,
} from '#pkg/apimachinery/index';
import { TypedError } from '../typed/typed-error.ts';
import { newTypeSchema } from '../typed/type-schema.ts';
import { FieldManager } from './field-manager.ts';
import type { ManagedFieldsEntry } from './managed-fields-entry.ts';

const apiVersion = 'example.com/v1';
const schema: JsonSchema = {
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } },
    status: { type: 'object', properties: { phase: { type: 'string' } } },
  },
};
const manager = new FieldManager({
  versions: new Map([[apiVersion, newTypeSchema(schema)]]),
  resetFields: { '': { reset: [['status']] }, status: { keep: [['status']] } },
});
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';

function object(spec: JsonValue, more: JsonObject = {}, metadata: JsonObject = {}): ApiObject {
  return { apiVersion, kind: 'Thing', metadata: { name: 'o', ...metadata }, spec, ...more };
}

function withFields(value: ApiObject, managedFields: ManagedFieldsEntry[]): ApiObject {
  return { ...value, metadata: { ...value.metadata, managedFields } };
}

const owners = (entries: readonly ManagedFieldsEntry[]): string[] =>
  entries.map(({ manager: name, operation, subresource = '', time = 'never', fieldsV1 }) =>
    [name, operation, subresource, time, JSON.stringify(fieldsV1)].join(' '),
  );

describe('times of entries', () => {
  const live = manager.apply(undefined, object({ a: 'x' }), { manager: 'a', now: 1000 }).object;

  test('an entry has the time of the write that changed something', () => {
    expect(owners(live.metadata.managedFields as ManagedFieldsEntry[])).toEqual([
      'a Apply  1970-01-01T00:00:01Z {"f:spec":{"f:a":{}}}',
    ]);
  });

  test('an apply that changes nothing returns the live object itself', () => {
    const again = manager.apply(live, object({ a: 'x' }), { manager: 'a', now: 5000 });
    expect(again.object).toBe(live);
    expect(again.managedFields).toBe(live.metadata.managedFields);
  });

  test('a second owner of the same value has no time, because the object did not change', () => {
    const shared = manager.apply(live, object({ a: 'x' }), { manager: 'b', now: 5000 });
    expect(shared.object).not.toBe(live);
    expect(owners(shared.managedFields)[0]).toBe('b Apply  never {"f:spec":{"f:a":{}}}');
  });

  test('an update that changes nothing keeps all entries', () => {
    const entries = manager.update(live, live, { manager: 'u', now: 5000 });
    expect(entries).toEqual(live.metadata.managedFields);
  });

  test('an update that only removes fields has no entry', () => {
    const entries = manager.update(live, object({}), { manager: 'u', now: 5000 });
    expect(owners(entries)).toEqual([]);
  });

  test('an update of what it owns already renews the time', () => {
    const mine = withFields(
      object({ a: 'x' }),
      manager.update(undefined, object({ a: 'x' }), { manager: 'u', now: 0 }),
    );
    const entries = manager.update(mine, object({ a: 'y' }), { manager: 'u', now: 5000 });
    expect(owners(entries)).toEqual(['u Update  1970-01-01T00:00:05Z {"f:spec":{".":{},"f:a":{}}}']);
    expect(entries[0]?.fieldsV1).toBe((mine.metadata.managedFields as ManagedFieldsEntry[])[0]?.fieldsV1);
  });
});

describe('fields that nobody owns', () => {
  test('are those that the server sets, and those that name the object', () => {
    const created = object({ a: 'x' }, {}, { namespace: 'n', uid: 'u', generation: 1, labels: { x: 'y' } });
    expect(owners(manager.update(undefined, created, { manager: 'u', now: 0 }))).toEqual([
      'u Update  1970-01-01T00:00:00Z {"f:metadata":{"f:labels":{".":{},"f:x":{}}},"f:spec":{".":{},"f:a":{}}}',
    ]);
  });

  test('are those that the endpoint does not change', () => {
    const created = object({ a: 'x' }, { status: { phase: 'Ready' } });
    const main = manager.apply(undefined, created, { manager: 'a', now: 0 });
    expect(owners(main.managedFields)).toEqual(['a Apply  1970-01-01T00:00:00Z {"f:spec":{"f:a":{}}}']);
    const live = withFields(object({ a: 'x' }), main.managedFields);
    const status = { manager: 'c', subresource: 'status', now: 0 };
    const changed = object({ a: 'y' }, { status: { phase: 'Ready' } });
    expect(owners(manager.update(live, changed, status))).toEqual([
      'a Apply  1970-01-01T00:00:00Z {"f:spec":{"f:a":{}}}',
      'c Update status 1970-01-01T00:00:00Z {"f:status":{".":{},"f:phase":{}}}',
    ]);
  });

  test('managedFields of a request to a subresource are ignored', () => {
    const live = manager.apply(undefined, object({ a: 'x' }), { manager: 'a', now: 0 }).object;
    const entries = manager.update(live, live, { manager: 'c', subresource: 'status', now: 0, requested: [{}] });
    expect(entries).toEqual(live.metadata.managedFields);
  });
});

describe('refusals', () => {
  const live = withFields(
    object({ a: 'x', b: 'x' }),
    manager.update(undefined, object({ a: 'x', b: 'x' }), { manager: 'u', now: 0 }),
  );

  test('one conflict', () => {
    expect(conflictOf(live, object({ a: 'y' }))).toEqual({
      message: 'Apply failed with 1 conflict: conflict with "u" using example.com/v1: .spec.a',
      causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "u" using example.com/v1', field: '.spec.a' }],
    });
  });

  test('several conflicts', () => {
    const both = withFields(live, [...manager.apply(live, object({ b: 'x' }), { manager: 'z', now: 0 }).managedFields]);
    expect(conflictOf(both, object({ a: 'y', b: 'y' })).message).toBe(
      'Apply failed with 3 conflicts: conflicts with "u" using example.com/v1:\n- .spec.a\n- .spec.b\nconflicts with "z":\n- .spec.b',
    );
  });

  test('a manager of a subresource is named with it', () => {
    const status = { phase: 'Ready' };
    const owned = manager.update(object({}), object({}, { status }), {
      manager: 'c',
      subresource: 'status',
      now: 0,
      requested: [],
    });
    const tracked = manager.apply(undefined, object({ a: 'x' }), { manager: 'a', now: 0 }).object;
    const entries = manager.update(tracked, { ...tracked, status }, { manager: 'c', subresource: 'status', now: 0 });
    const withStatus = withFields({ ...tracked, status }, entries);
    expect(owned).toEqual([]);
    expect(() =>
      manager.apply(withStatus, object({}, { status: { phase: 'Lost' } }), {
        manager: 'd',
        subresource: 'status',
        now: 0,
      }),
    ).toThrow('conflict with "c" with subresource "status" using example.com/v1: .status.phase');
  });

  test('a configuration with managedFields', () => {
    const config = object({ a: 'y' }, {}, { managedFields: [] });
    expect(() => manager.apply(live, config, { manager: 'a', now: 0 })).toThrow('metadata.managedFields must be nil');
  });

  test('a configuration of another version, and one that does not fit', () => {
    const other = { ...object({}), apiVersion: 'example.com/v9' };
    expect(() => manager.apply(undefined, other, { manager: 'a', now: 0 })).toThrow(TypedError);
    expect(() => manager.apply(undefined, object({ a: 1, c: 1 }), { manager: 'a', now: 0 })).toThrow(
      'failed to create typed patch object (/o; example.com/v1, Kind=Thing): errors:\n' +
        '  .spec.a: expected string, got &value.valueUnstructured{Value:1}\n  .spec.c: field not declared in schema',
    );
  });

  test('a live object whose entries cannot be read', () => {
    const unreadable = object({}, {}, { managedFields: [{ manager: 'm' }] });
    expect(() => manager.apply(unreadable, object({}), { manager: 'a', now: 0 })).toThrow(
      'failed to decode managed fields: operation must be `Apply` or `Update`',
    );
    expect(manager.update(unreadable, object({ a: 'x' }), { manager: 'u', now: 0 })).toEqual([]);
  });

  function conflictOf(value: ApiObject, config: ApiObject): { message: string; causes: unknown } {
    try {
      manager.apply(value, config, { manager: 'b', now: 0 });
    } catch (error) {
      if (error instanceof ApplyConflict) return { message: error.message, causes: error.details?.causes };
      throw error;
    }
    throw new Error('no conflict');
  }
});

describe('kubectl', () => {
  const config = { apiVersion, kind: 'Thing', metadata: { name: 'o' }, spec: { a: 'x' } };
  const metadata = { annotations: { [annotation]: `${JSON.stringify(config)}\n` } };
  const value = object({ a: 'x', b: 'x' }, {}, metadata);
  const live = withFields(value, manager.update(undefined, value, { manager: 'kubectl-client-side-apply', now: 0 }));

  test('takes what its client-side apply set, and the annotation follows', () => {
    const { object: result, managedFields } = manager.apply(live, object({ a: 'y' }), { manager: 'kubectl', now: 0 });
    expect(result.spec).toEqual({ a: 'y', b: 'x' });
    expect(result.metadata.annotations?.[annotation]).toBe(
      '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"o"},"spec":{"a":"y"}}\n',
    );
    expect(managedFields[0]).toMatchObject({ manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:a': {} } } });
  });

  test('conflicts over what it did not set, and over what changed since', () => {
    const options = { manager: 'kubectl', now: 0 };
    expect(() => manager.apply(live, object({ a: 'y', b: 'y' }), options)).toThrow(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using example.com/v1: .spec.b',
    );
    const changed = withFields(object({ a: 'z' }, {}, metadata), live.metadata.managedFields as ManagedFieldsEntry[]);
    expect(() => manager.apply(changed, object({ a: 'y' }), options)).toThrow(ApplyConflict);
  });

  test('another manager does not take it', () => {
    expect(() => manager.apply(live, object({ a: 'y' }), { manager: 'flux', now: 0 })).toThrow(ApplyConflict);
  });

  test('an annotation that is too large is left out', () => {
    const large = object({ a: 'y'.repeat(300_000) });
    const { object: result } = manager.apply(live, large, { manager: 'kubectl', now: 0 });
    expect(result.metadata.annotations).toEqual({});
  });
});

describe('very many fields', () => {
  const set: JsonSchema = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };
  const map: JsonSchema = { type: 'object', additionalProperties: { type: 'string' } };
  const large = new FieldManager({
    versions: new Map([
      [
        apiVersion,
        newTypeSchema({ type: 'object', properties: { spec: { type: 'object', properties: { set, map } } } }),
      ],
    ]),
  });
  const texts = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
  const withTexts = (count: number, prefix: string): ApiObject => object({ set: texts(count, prefix) });

  test('more than 50 000 are not kept, and cannot be applied', () => {
    // Two of them are the spec and the set.
    const [most, tooMany] = [withTexts(49_998, 'v'), withTexts(49_999, 'v')];
    const options = { manager: 'a', now: 0 };
    expect(large.update(undefined, most, options)).toHaveLength(1);
    expect(large.update(undefined, tooMany, options)).toEqual([]);
    const { managedFields } = large.apply(undefined, most, options);
    expect(large.update(withFields(most, managedFields), tooMany, { manager: 'u', now: 0 })).toEqual([]);
    for (const live of [undefined, tooMany])
      expect(() => large.apply(live, live === undefined ? tooMany : object({}), options)).toThrow(StatusError);
  });

  test('are merged and compared in slices', () => {
    const { object: live } = large.apply(undefined, withTexts(20_000, 'v'), { manager: 'a', now: 0 });
    const work = large.applying(live, withTexts(20_000, 'w'), { manager: 'a', now: 0 });
    let slices = 1;
    let step = work.next();
    for (; step.done !== true; step = work.next()) slices += 1;
    expect(step.value.object.spec).toEqual({ set: texts(20_000, 'w') });
    expect(slices).toBeGreaterThan(100);
  });

  test('a conflict names the first 500', () => {
    const values = (value: string): ApiObject =>
      object({ map: Object.fromEntries(texts(600, 'k').map((key) => [key, value])) });
    const { object: live } = large.apply(undefined, values('x'), { manager: 'a', now: 0 });
    const apply = (): unknown => large.apply(live, values('y'), { manager: 'b', now: 0 });
    expect(apply).toThrow(
      /^Apply failed with 600 conflicts: conflicts with "a":\n- \.spec\.map\.k0\n[^]*\nand 100 more$/,
    );
  });
});
