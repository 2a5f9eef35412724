import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, causesOf, mergePatch } from './api-call.ts';
import { createOrThrow, register, type Registered, type Schema } from './models-definition.ts';

let env: TestEnv;
let model: Registered;

const item = {
  type: 'object',
  required: ['key'],
  properties: { key: { type: 'string' }, value: { type: 'string', maxLength: 3 } },
};
const properties: Record<string, Schema> = {
  title: { type: 'string', maxLength: 5, minLength: 2 },
  slug: { type: 'string', pattern: '^[a-z]+$' },
  priority: { type: 'integer', minimum: 1, maximum: 10 },
  small: { type: 'integer', format: 'int32' },
  open: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true },
  steps: { type: 'number', multipleOf: 0.5 },
  phase: { type: 'string', enum: ['draft', 'public'] },
  flag: { type: 'boolean' },
  when: { type: 'string', format: 'date-time' },
  odd: { type: 'string', format: 'unheard-of' },
  list: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'integer' } },
  map: { type: 'object', minProperties: 1, maxProperties: 2, additionalProperties: { type: 'string', minLength: 1 } },
  nested: {
    type: 'object',
    required: ['must'],
    properties: { must: { type: 'string' }, deep: { type: 'array', items: item } },
  },
  set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
  keyed: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['key'], items: item },
  either: { 'x-kubernetes-int-or-string': true },
  one: {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    oneOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  any: { type: 'integer', anyOf: [{ maximum: 2 }, { minimum: 8 }] },
  all: { type: 'string', allOf: [{ minLength: 2 }, { pattern: 'x' }] },
  no: { type: 'string', not: { enum: ['no'] } },
};

beforeAll(async () => {
  env = await startTestEnv();
  model = await register(env, {
    schema: {
      type: 'object',
      required: ['spec'],
      properties: { spec: { type: 'object', required: ['title'], properties } },
    },
  });
});

afterAll(() => env?.stop());

type Fields = Record<string, unknown>;

/** The fields, and the only cause as `field: reason: message`; a pattern is matched. */
const refused: [string, Fields, string | RegExp][] = [
  ['absent', { title: undefined }, 'spec.title: FieldValueRequired: Required value'],
  ['absent below', { nested: {} }, 'spec.nested.must: FieldValueRequired: Required value'],
  [
    'missing in a list',
    { nested: { must: 'm', deep: [{ key: 'k' }, {}] } },
    'spec.nested.deep[1].key: FieldValueRequired: Required value',
  ],
  [
    'too long',
    { title: '123456' },
    /^spec\.title: FieldValueTooLong: Too long: may not be more than 5 (bytes|characters)$/,
  ],
  [
    'too short',
    { title: '1' },
    'spec.title: FieldValueInvalid: Invalid value: "1": spec.title in body should be at least 2 chars long',
  ],
  [
    'too short, counted in characters',
    { title: '😀' },
    'spec.title: FieldValueInvalid: Invalid value: "😀": spec.title in body should be at least 2 chars long',
  ],
  [
    'pattern',
    { slug: 'A' },
    `spec.slug: FieldValueInvalid: Invalid value: "A": spec.slug in body should match '^[a-z]+$'`,
  ],
  [
    'above',
    { priority: 99 },
    'spec.priority: FieldValueInvalid: Invalid value: 99: spec.priority in body should be less than or equal to 10',
  ],
  [
    'below',
    { priority: 0 },
    'spec.priority: FieldValueInvalid: Invalid value: 0: spec.priority in body should be greater than or equal to 1',
  ],
  [
    'string for an integer',
    { priority: 'string' },
    'spec.priority: FieldValueTypeInvalid: Invalid value: "string": spec.priority in body must be of type integer: "string"',
  ],
  [
    'fraction for an integer',
    { priority: 1.5 },
    /^spec\.priority: FieldValueTypeInvalid: Invalid value: "number": spec\.priority in body must be of type integer: "number"$/,
  ],
  ['beyond int32', { small: 2147483648 }, /^spec\.small: FieldValue(Type)?Invalid: Invalid value: 2147483648: /],
  [
    'object for a string',
    { title: {} },
    'spec.title: FieldValueTypeInvalid: Invalid value: "object": spec.title in body must be of type string: "object"',
  ],
  [
    'integer for a string',
    { title: 12 },
    'spec.title: FieldValueTypeInvalid: Invalid value: "integer": spec.title in body must be of type string: "integer"',
  ],
  [
    'string for a boolean',
    { flag: 'true' },
    'spec.flag: FieldValueTypeInvalid: Invalid value: "string": spec.flag in body must be of type boolean: "string"',
  ],
  [
    'object for a list',
    { list: {} },
    'spec.list: FieldValueTypeInvalid: Invalid value: "object": spec.list in body must be of type array: "object"',
  ],
  [
    'list for an object',
    { map: [] },
    'spec.map: FieldValueTypeInvalid: Invalid value: "array": spec.map in body must be of type object: "array"',
  ],
  [
    'exclusive minimum',
    { open: 0 },
    'spec.open: FieldValueInvalid: Invalid value: 0: spec.open in body should be greater than 0',
  ],
  [
    'exclusive maximum',
    { open: 1 },
    'spec.open: FieldValueInvalid: Invalid value: 1: spec.open in body should be less than 1',
  ],
  [
    'no multiple',
    { steps: 0.7 },
    'spec.steps: FieldValueInvalid: Invalid value: 0.7: spec.steps in body should be a multiple of 0.5',
  ],
  [
    'not in the enum',
    { phase: 'x' },
    'spec.phase: FieldValueNotSupported: Unsupported value: "x": supported values: "draft", "public"',
  ],
  [
    'no date',
    { when: 'yesterday' },
    'spec.when: FieldValueTypeInvalid: Invalid value: "yesterday": spec.when in body must be of type date-time: "yesterday"',
  ],
  ['too many', { list: [1, 2, 3] }, 'spec.list: FieldValueTooMany: Too many: 3: must have at most 2 items'],
  [
    'too few',
    { list: [] },
    'spec.list: FieldValueInvalid: Invalid value: 0: spec.list in body should have at least 1 items',
  ],
  [
    'wrong item',
    { list: [1, 'b'] },
    'spec.list[1]: FieldValueTypeInvalid: Invalid value: "string": spec.list[1] in body must be of type integer: "string"',
  ],
  [
    'too many properties',
    { map: { a: 'a', b: 'b', c: 'c' } },
    /^spec\.map: FieldValue(TooMany|Invalid): .* at most 2 (items|properties)$/,
  ],
  [
    'too few properties',
    { map: {} },
    'spec.map: FieldValueInvalid: Invalid value: 0: spec.map in body should have at least 1 properties',
  ],
  [
    'wrong value in a map',
    { map: { 'a.b': '' } },
    /^spec\.map\.a\.b: FieldValueInvalid: Invalid value: "": spec\.map\.a\.b in body should be at least 1 chars long$/,
  ],
  ['duplicate in a set', { set: ['a', 'b', 'a'] }, 'spec.set[2]: FieldValueDuplicate: Duplicate value: "a"'],
  [
    'duplicate in a map list',
    { keyed: [{ key: 'k' }, { key: 'k' }] },
    /^spec\.keyed\[1\]: FieldValueDuplicate: Duplicate value: (map\[string\]interface \{\}\{)?\{?"key":"k"\}$/,
  ],
  ['neither', { either: true }, /^spec\.either: FieldValueTypeInvalid: .*must be of type integer,string: "boolean"$/],
  ['oneOf: none', { one: {} }, /^spec\.one(\.\w)?: /],
  [
    'oneOf: both',
    { one: { a: '1', b: '2' } },
    /^spec\.one: FieldValueInvalid: .*must validate one and only one schema \(oneOf\)/,
  ],
  ['anyOf', { any: 5 }, /^spec\.any: FieldValueInvalid: /],
  ['allOf', { all: 'yy' }, /^spec\.all: FieldValueInvalid: /],
  ['not', { no: 'no' }, /^spec\.no: FieldValueInvalid: .*must not validate the schema \(not\)/],
];

describe('an invalid value is 422, and the cause names the field and the rule', () => {
  test.each(refused)('%s', async (_case, given, expected) => {
    const answer = await call(env, model.path, {
      method: 'POST',
      body: model.object('refused', { title: 'ok', ...given }),
    });
    expect([answer.status, answer.body.reason]).toEqual([422, 'Invalid']);
    const causes = causesOf(answer);
    expect(causes).toEqual(
      expect.arrayContaining([typeof expected === 'string' ? expected : expect.stringMatching(expected)]),
    );
    expect(answer.body.details).toMatchObject({ name: 'refused', group: model.group, kind: 'Post' });
    expect(answer.body.message).toMatch(new RegExp(`^Post\\.${model.group} "refused" is invalid: `));
    expect((await call(env, `${model.path}/refused`)).status).toBe(404);
  });

  test.each(refused)('%s: on update and patch too, and nothing changes', async (_case, given) => {
    const name = 'stays-as-it-is';
    await call(env, model.path, { method: 'POST', body: model.object(name, { title: 'ok' }) });
    const put = await call(env, `${model.path}/${name}`, {
      method: 'PUT',
      body: model.object(name, { title: 'ok', ...given }),
    });
    const patch = { spec: 'title' in given && given['title'] === undefined ? { title: null } : given };
    const patched = await call(env, `${model.path}/${name}`, { method: 'PATCH', headers: mergePatch, body: patch });
    expect([put.status, patched.status]).toEqual([422, 422]);
    expect((await call(env, `${model.path}/${name}`)).body.spec).toEqual({ title: 'ok' });
  });
});

test('several invalid values are in one answer, sorted', async () => {
  const answer = await call(env, model.path, {
    method: 'POST',
    body: model.object('several', { title: '123456', priority: 99, phase: 'x', nested: {} }),
  });
  expect(answer.body.details.causes!.map(({ field }) => field)).toEqual([
    'spec.nested.must',
    'spec.phase',
    'spec.priority',
    'spec.title',
  ]);
  expect(answer.body.message).toMatch(
    /is invalid: \[spec\.nested\.must: .*, spec\.phase: .*, spec\.priority: .*, spec\.title: .*\]$/,
  );
});

test('a missing spec is 422', async () => {
  const answer = await call(env, model.path, {
    method: 'POST',
    body: { apiVersion: model.apiVersion, kind: 'Post', metadata: { name: 'none' } },
  });
  expect([answer.status, causesOf(answer)]).toEqual([422, ['spec: FieldValueRequired: Required value']]);
});

test('a pattern with exponential backtracking is checked in time', async () => {
  const slow = await register(env, {
    spec: { type: 'object', properties: { f: { type: 'string', pattern: '^(a+)+$' } } },
  });
  const before = Date.now();
  const answer = await call(env, slow.path, {
    method: 'POST',
    body: slow.object('slow', { f: `${'a'.repeat(50_000)}!` }),
  });
  expect(answer.status).toBe(422);
  expect(Date.now() - before).toBeLessThan(20_000);
});

const accepted: [string, Fields][] = [
  [
    'all in range',
    { title: '12345', priority: 10, open: 0.5, steps: 1.5, phase: 'draft', flag: false, list: [1, 2], map: { a: 'x' } },
  ],
  ['lengths count characters, not bytes', { title: '日本語日本' }],
  ['an integer written as 5.0', { priority: 5.0 }],
  ['a date with an offset and a fraction', { when: '2026-01-02T03:04:05.678+01:00' }],
  ['an unknown format', { odd: '!' }],
  ['logic satisfied', { one: { a: '1' }, any: 9, all: 'xx', no: 'yes' }],
  ['a set and a map list without repetition', { set: ['a', 'b'], keyed: [{ key: 'a' }, { key: 'b' }] }],
];

test.each(accepted)('accepted: %s', async (_case, given) => {
  const name = `accepted-${accepted.findIndex(([other]) => other === _case)}`;
  const created = await createOrThrow(env, model.path, model.object(name, { title: 'ok', ...given }));
  expect(created.spec).toEqual({ title: 'ok', ...given });
});
