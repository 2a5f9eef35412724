import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseYaml, toYaml } from '../../../console/src/editor/yaml-text.ts';
import {
  isObject,
  isWithin,
  pathText,
  type FieldPath,
  valueAt,
  withMoved,
  withOtherFields,
  withRenamedKey,
  withValueAt,
} from '../../../console/src/form/field-path.ts';
import { intOrStringText, numberText, parseIntOrString, parseNumber } from '../../../console/src/form/field-text.ts';
import {
  blockChoicesOf,
  blockFieldsOf,
  choicesOf,
  declaredNames,
  embeddedRoot,
  fieldsIn,
  hasBlock,
  isGroup,
  newValue,
  rootField,
  type FormField,
} from '../../../console/src/form/form-field.ts';
import { afterRemoval, afterRename, afterSwap, textsAt } from '../../../console/src/form/unfinished-texts.ts';
import { draftOf, isSameDraft, typedDraft } from '../../../console/src/object/editor-draft.ts';
import type { OpenApiSchema } from '../../../console/src/server/open-api-schema.ts';
import { equalJson, type JsonObject, type JsonValue } from '../../../pkg/apimachinery/index.ts';
import { realDataPresent, realDefinitions, realExamples } from '../../../pkg/testenv/contract/real-data-files.ts';

interface DefinitionVersion {
  name: string;
  schema: { openAPIV3Schema: OpenApiSchema };
}

/** What the controls of a field give back for what they show. */
function shownValue(field: FormField): JsonValue | undefined {
  const { kind, value } = field;
  if (value === undefined || value === null) return value;
  switch (kind) {
    case 'number':
      return parseNumber(numberText(value)!);
    case 'intOrString':
      return parseIntOrString(intOrStringText(value as string | number));
    case 'choice':
      return choicesOf(field)[choicesOf(field).indexOf(value)];
    case 'yaml':
    case 'others':
    case 'embedded':
      return parseYaml(toYaml(value));
    case 'list':
      return fieldsIn(field, {}).map((each) => shownValue(each)!);
    case 'map':
      return Object.fromEntries(fieldsIn(field, {}).map((each) => [each.name, shownValue(each)!]));
    case 'object': {
      const fields = fieldsIn(field, {}).filter((each) => each.value !== undefined);
      const declared = fields.filter((each) => each.kind !== 'others');
      const other = fields.find((each) => each.kind === 'others');
      const others = other === undefined ? undefined : shownValue(other);
      return {
        ...Object.fromEntries(declared.map((each) => [each.name, shownValue(each)!])),
        ...(isObject(others) ? others : {}),
      };
    }
    default:
      // As a browser gives it back.
      return (value as string).replaceAll(/\r\n?/g, '\n');
  }
}

function leavesOf(field: FormField): FormField[] {
  const inner = field.value === null ? [] : fieldsIn(field, {});
  return isGroup(field) && field.kind !== 'embedded' ? inner.flatMap(leavesOf) : [field];
}

/** Is everything but what is at the path, and on the way to it, the same part? */
function isSameElsewhere(before: JsonValue | undefined, after: JsonValue | undefined, path: FieldPath): boolean {
  const [step, ...rest] = path;
  if (step === undefined) return true;
  const steps = Array.isArray(before) ? [...before.keys()] : Object.keys((before ?? {}) as object);
  return (
    steps.every((each) => each === step || Object.is(valueAt(before, [each]), valueAt(after, [each]))) &&
    isSameElsewhere(valueAt(before, [step]), valueAt(after, [step]), rest)
  );
}

/** Each field shows what it has, and a change of it changes nothing else. */
function expectExactForm(schema: OpenApiSchema, value: JsonValue): void {
  const root = rootField(schema, {}, value);
  expect(shownValue(root)).toEqual(value);
  const faults = leavesOf(root).filter(({ kind, path, value: own, place }) => {
    if (kind === 'others') return false;
    const changed = withValueAt(value, path, 'changed by the form');
    return !(
      // What is set to what it is, or is removed where it is not, changes nothing.
      withValueAt(value, path, own) === value &&
      valueAt(changed, path) === 'changed by the form' &&
      isSameElsewhere(value, changed, path) &&
      (own === undefined || place === 'element' || equalJson(withValueAt(changed, path, own), value))
    );
  });
  expect(faults).toEqual([]);
}

const name = fc.constantFrom('a', 'b', 'c', 'constructor', '__proto__', '1');
const { schema: anySchema } = fc.letrec<{ schema: OpenApiSchema; object: OpenApiSchema; scalar: OpenApiSchema }>(
  (tie) => ({
    scalar: fc.record(
      {
        type: fc.constantFrom('string', 'integer', 'number', 'boolean'),
        format: fc.constantFrom('date', 'date-time', 'byte', 'int64'),
        nullable: fc.boolean(),
        default: fc.constantFrom('x', 1, true),
        enum: fc.uniqueArray(fc.constantFrom('x', 'y', 1, 2.5, null), { minLength: 1 }),
      },
      { requiredKeys: ['type'] },
    ),
    object: fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(name, tie('schema'), { maxKeys: 3 }),
      required: fc.uniqueArray(name, { maxLength: 2 }),
      nullable: fc.boolean(),
      'x-kubernetes-preserve-unknown-fields': fc.boolean(),
    }),
    schema: fc.oneof(
      { maxDepth: 4, depthSize: 'medium' },
      tie('scalar'),
      fc.constant({ type: 'string' }),
      fc.constant({ 'x-kubernetes-int-or-string': true }),
      fc.constant({ 'x-kubernetes-preserve-unknown-fields': true }),
      fc.constant({
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
      }),
      tie('object'),
      fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record({
        type: fc.constant('array'),
        items: tie('object'),
        'x-kubernetes-list-type': fc.constant('map'),
        'x-kubernetes-list-map-keys': fc.constantFrom<string[]>(['a']),
      }),
    ),
  }),
);

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '80',
    '"80"',
    '08',
    '-0',
    '1e3',
    ' 1',
    'true',
    'null',
    '~',
    'a: b',
    '- a',
    '#',
    'a\nb',
    'a\r\nb',
    '\t',
    '2026-01-31',
  ),
);
const anything = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;

/** A value of the schema; sometimes any other one, as it is when a schema has changed since. */
function valueOf(schema: OpenApiSchema): fc.Arbitrary<JsonValue> {
  return fc.oneof(
    { weight: 8, arbitrary: rightValueOf(schema) },
    { weight: 1, arbitrary: anything },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

function rightValueOf(schema: OpenApiSchema): fc.Arbitrary<JsonValue> {
  if (schema['x-kubernetes-int-or-string'] === true) return fc.oneof(fc.integer(), text);
  switch (schema.type) {
    case 'string':
      return text;
    case 'integer':
      return fc.oneof(fc.integer(), fc.maxSafeInteger());
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valueOf(schema.items!), { maxLength: 3 });
    case 'object': {
      const { properties = {}, additionalProperties } = schema;
      if (typeof additionalProperties === 'object')
        return fc.dictionary(fc.oneof(name, fc.string()), valueOf(additionalProperties), { maxKeys: 3 });
      const fields = Object.entries(properties).map(([key, of]) =>
        fc.option(valueOf(of), { nil: undefined }).map((value) => [key, value] as const),
      );
      const others = fc.oneof(
        { weight: 3, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: fc.dictionary(fc.string(), anything, { maxKeys: 2 }) },
      );
      return fc.tuple(fc.tuple(...fields), others).map(([entries, more]) => ({
        ...more,
        ...(Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as JsonObject),
      }));
    }
    default:
      return anything;
  }
}

describe('a form of a schema', () => {
  test('shows any value of any schema without a loss, and changes one field at a time', () => {
    const pair = anySchema.chain((schema) => fc.tuple(fc.constant(schema), valueOf(schema)));
    fc.assert(
      fc.property(pair, ([schema, value]) => expectExactForm(schema, value)),
      { numRuns: 1000 },
    );
  });

  const definitions = realDataPresent ? [...realDefinitions('gateway-api'), ...realDefinitions('cert-manager')] : [];
  const schemas = definitions.flatMap(({ content: { spec } }) =>
    (spec['versions'] as unknown as DefinitionVersion[]).map(({ name: version, schema }) => ({
      apiVersion: `${spec['group']}/${version}`,
      kind: (spec['names'] as { kind: string }).kind,
      schema: schema.openAPIV3Schema,
    })),
  );

  (realDataPresent ? test : test.skip)('shows every example of other projects without a loss', () => {
    let count = 0;
    for (const { content } of realExamples('gateway-api')) {
      const found = schemas.find(({ apiVersion, kind }) => apiVersion === content.apiVersion && kind === content.kind);
      if (found === undefined) continue;
      expectExactForm(found.schema, content as unknown as JsonValue);
      count += 1;
    }
    expect(count).toBeGreaterThan(50);
  });

  (realDataPresent ? test : test.skip)('shows values of every definition of other projects without a loss', () => {
    expect(schemas.length).toBeGreaterThan(15);
    for (const { schema } of schemas) {
      fc.assert(
        fc.property(valueOf(schema), (value) => {
          expect(shownValue(rootField(schema, {}, value))).toEqual(value);
        }),
        { numRuns: 5 },
      );
    }
  });

  test.each<[OpenApiSchema, JsonValue]>([
    [{ type: 'string' }, 'a\r\nb'],
    [{ type: 'string' }, 1],
    [{ type: 'number' }, '12'],
    [{ 'x-kubernetes-int-or-string': true }, 1.5],
    [{ type: 'object', properties: { a: {} } }, ['a']],
    [{ type: 'array', items: {} }, { a: 1 }],
    [{ type: 'string', enum: ['x'] }, { a: 1 }],
  ])('%j shows %j as YAML, because its field would change it', (schema, value) => {
    expect(rootField(schema, {}, value).kind).toBe('yaml');
  });

  test('an absent field needs the objects on its way, and an absent one stays absent', () => {
    expect(withValueAt({ a: 1 }, ['b', 'c', 0, 'd'], 2)).toEqual({ a: 1, b: { c: [{ d: 2 }] } });
    const value = { a: { b: [1, 2, 3] } };
    expect(withValueAt(value, ['x', 'y'], undefined)).toBe(value);
    expect(withValueAt(value, ['a', 'b', 1], undefined)).toEqual({ a: { b: [1, 3] } });
    expect(withValueAt(value, ['a', 'b', 3], 4)).toEqual({ a: { b: [1, 2, 3, 4] } });
    expect(withMoved([1, 2, 3], 2, 1)).toEqual([1, 3, 2]);
  });

  test('the fields that a schema does not name change apart from those that it names', () => {
    const object = { x: 1, named: 2, y: 3 };
    expect(Object.entries(withOtherFields(object, new Set(['named']), { y: 4, z: 5 }))).toEqual([
      ['named', 2],
      ['y', 4],
      ['z', 5],
    ]);
    expect([...declaredNames({ properties: { a: {}, b: {} } })]).toEqual(['a', 'b']);
  });

  test.each([
    ['80', 80],
    ['-1', -1],
    ['"80"', '80'],
    ['08', '08'],
    ['80%', '80%'],
    ['"', '"'],
    ['12345678901234567890', '12345678901234567890'],
  ])('an integer or string that is typed as %s is %j', (typed, value) => {
    expect(parseIntOrString(typed)).toBe(value);
    expect(parseIntOrString(intOrStringText(value))).toBe(value);
  });

  test.each([
    ['1.5', 1.5],
    ['1e3', 1000],
    ['12a', '12a'],
    ['', ''],
    ['9007199254740993', '9007199254740993'],
    ['1e999', '1e999'],
  ])('a number that is typed as %j is %j', (typed, value) => {
    expect(parseNumber(typed)).toBe(value);
  });

  test('blocks of which one, at most one, or at least one is needed are found, and nothing else is taken for one', () => {
    const properties = { a: {}, b: {}, c: {} };
    const [a, b] = [{ required: ['a'] }, { required: ['b'] }];
    const exclusive = [{ blocks: [['a'], ['b']], isExclusive: true }];
    expect(blockChoicesOf({ properties, oneOf: [a, b] })).toEqual(exclusive);
    expect(blockChoicesOf({ properties, oneOf: [{ ...a, not: b }, b] })).toEqual(exclusive);
    expect(blockChoicesOf({ properties, anyOf: [a, b] })).toEqual([{ blocks: [['a'], ['b']], isExclusive: false }]);
    expect(blockChoicesOf({ properties, oneOf: [{ not: { anyOf: [a, b] } }, a, b] })).toEqual([
      { blocks: [[], ['a'], ['b']], isExclusive: true },
    ]);
    expect(blockChoicesOf({ properties, allOf: [{ oneOf: [a, b] }, { anyOf: [b, { required: ['c'] }] }] })).toEqual([
      ...exclusive,
      { blocks: [['b'], ['c']], isExclusive: false },
    ]);
    for (const branches of [
      [a, { properties: {} }],
      [a, { required: ['unknown'] }],
      [a, {}],
      [a, { ...b, not: { properties: { a: { enum: [1] } } } }],
      [a],
    ])
      expect(blockChoicesOf({ properties, oneOf: branches })).toEqual([]);
    expect(blockChoicesOf({ properties, anyOf: [a, { not: b }] })).toEqual([]);
    expect(blockChoicesOf({ properties })).toEqual([]);
  });

  test('an object has a block with all its fields, and of an exclusive choice without those of the others', () => {
    const choice = { blocks: [['a', 'b'], ['a', 'c'], []], isExclusive: true };
    expect([
      ...blockFieldsOf({
        ...choice,
        blocks: [
          ['a', 'b'],
          ['a', 'c'],
        ],
      }),
    ]).toEqual(['b', 'c']);
    const blockOf = (value: JsonObject) => choice.blocks.filter((block) => hasBlock(choice, block, value));
    expect(blockOf({ a: 1, b: 1 })).toEqual([['a', 'b']]);
    expect(blockOf({ a: 1, b: 1, c: 1 })).toEqual([]);
    expect(blockOf({ d: 1 })).toEqual([[]]);
    const some = { blocks: [['a'], ['b']], isExclusive: false };
    expect(some.blocks.filter((block) => hasBlock(some, block, { a: 1, b: null }))).toEqual([['a'], ['b']]);
  });

  test('an object of any kind has the fields of the kind that it is; what the schema names itself is no such object', () => {
    const any = { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true };
    const type = { apiVersion: { type: 'string' }, kind: { type: 'string' } };
    const embedded: OpenApiSchema = { type: 'object', properties: { ...type, metadata: {} }, ...any };
    const own: OpenApiSchema = { type: 'object', properties: { ...type, spec: { type: 'object' } }, ...any };
    const value = { apiVersion: 'v1', kind: 'Note', text: 'x', more: 1 };
    const root = rootField({ properties: { a: embedded, b: own }, type: 'object' }, {}, { a: value, b: value });
    const [a, b] = fieldsIn(root, {});
    expect([a!.kind, b!.kind]).toEqual(['embedded', 'object']);
    expect(rootField(embedded, {}, [1]).kind).toBe('yaml');
    const note = { root: { type: 'object', properties: { ...type, text: { type: 'string' } } }, shared: {} };
    expect(fieldsIn(embeddedRoot(a!, note), {}).map(({ id, listed, kind }) => [id, listed, kind])).toEqual([
      ['a.apiVersion', 'apiVersion', 'text'],
      ['a.kind', 'kind', 'text'],
      ['a.text', 'text', 'text'],
      ['a', '', 'others'],
    ]);
  });

  test('a key is renamed in its place, and never over another one', () => {
    const map = { a: 1, b: { x: 2 }, c: 3 };
    const renamed = withRenamedKey(map, 'b', '__proto__')!;
    expect(Object.entries(renamed)).toEqual([
      ['a', 1],
      ['__proto__', map.b],
      ['c', 3],
    ]);
    expect(Object.entries(renamed)[1]![1]).toBe(map.b);
    expect(withRenamedKey(map, 'a', 'c')).toBeUndefined();
    expect(withRenamedKey(map, 'd', 'e')).toBeUndefined();
    expect(withRenamedKey([1], '0', 'a')).toBeUndefined();
  });

  test('a text that is no value yet goes where its field goes, and ends with it', () => {
    const waiting = (typed: string) => ({ text: typed, fault: 'no' });
    const texts = new Map(
      ['field a', 'others a.b', 'field a.b[0].x', 'field a.b[1]', 'key a.b[2].c', 'field a.bc'].map((key) => [
        key,
        waiting(key),
      ]),
    );
    const keys = (after: ReadonlyMap<string, unknown>) => [...after.keys()];
    expect(keys(textsAt(texts, afterRemoval(['a', 'b'])))).toEqual(['field a', 'field a.bc']);
    const removed = textsAt(texts, afterRemoval(['a', 'b', 1]));
    expect(keys(removed)).toEqual(['field a', 'others a.b', 'field a.b[0].x', 'key a.b[1].c', 'field a.bc']);
    expect(removed.get('key a.b[1].c')).toEqual(waiting('key a.b[2].c'));
    expect(keys(textsAt(texts, afterSwap(['a', 'b'], 1, 0))).slice(2, 4)).toEqual(['field a.b[1].x', 'field a.b[0]']);
    expect(keys(textsAt(texts, afterRename(['a'], 'b', 'z')))).toEqual([
      'field a',
      'others a.z',
      'field a.z[0].x',
      'field a.z[1]',
      'key a.z[2].c',
      'field a.bc',
    ]);
    expect(textsAt(texts, afterRemoval(['other']))).toBe(texts);
  });

  test('metadata has the fields that people set; what else it has is shown, too', () => {
    const meta = { type: 'object', properties: { name: { type: 'string' }, uid: { type: 'string' } } };
    const shared = { 'io.k8s.meta.v1.ObjectMeta': meta };
    const schema = {
      type: 'object',
      properties: { metadata: { allOf: [{ $ref: '#/components/schemas/io.k8s.meta.v1.ObjectMeta' }] } },
    };
    const [metadata] = fieldsIn(rootField(schema, shared, { metadata: { name: 'x', uid: 'y' } }), shared);
    expect(fieldsIn(metadata!, shared).map(({ id, kind, value }) => [id, kind, value])).toEqual([
      ['metadata.name', 'text', 'x'],
      ['metadata', 'others', { uid: 'y' }],
    ]);
  });

  test('a new value has its default, or its required fields, and ends where a schema contains itself', () => {
    const schema: OpenApiSchema = {
      type: 'object',
      required: ['name', 'port', 'mode', 'kept', 'self'],
      properties: {
        name: { type: 'string' },
        port: { type: 'integer', minimum: 1 },
        mode: { enum: ['x'] },
        kept: { default: [1] },
      },
    };
    schema.properties!['self'] = schema;
    expect(newValue(schema, {})).toMatchObject({
      name: '',
      port: 1,
      mode: 'x',
      kept: [1],
      self: { self: { name: '' } },
    });
  });

  test('a draft is the same as another one that says the same, whether written or typed', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (a, b) => {
        const [one, other] = [draftOf(a as JsonObject), draftOf(b as JsonObject)];
        expect(isSameDraft(one, draftOf(structuredClone(a) as JsonObject))).toBe(true);
        expect(isSameDraft(one, typedDraft(one.text))).toBe(true);
        expect(isSameDraft(one, other)).toBe(toYaml(a as JsonObject) === toYaml(b as JsonObject));
        expect(isSameDraft(typedDraft(`${one.text} `), one)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  test('a cause is at its field as the server names it', () => {
    expect(pathText(['spec', 'ports', 0, 'name'])).toBe('spec.ports[0].name');
    expect(isWithin('spec.ports[0].name', 'spec.ports')).toBe(true);
    expect(isWithin('spec.portsOther', 'spec.ports')).toBe(false);
    expect(isObject([])).toBe(false);
  });
});
