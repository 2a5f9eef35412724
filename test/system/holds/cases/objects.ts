import { once, type HoldCase } from '../hold-case.ts';
import type { MeasuredRequest } from '../measured-server.ts';
import { collectionOf, define, many, members, nested, object, openObject, withSpec } from '../sample-model.ts';

interface HostileModel {
  name: string;
  spec: object;
  extra?: Record<string, unknown>;
  /** Two forms of a spec: the object is created with the first, rewritten unchanged, changed to the second and back. */
  specs: () => [unknown, unknown];
}

const text = { type: 'string' };
const integers = { type: 'array', items: { type: 'integer' } };

const hostile: HostileModel[] = [
  { name: 'many numbers', spec: integers, specs: () => [many(99_000, (i) => i), many(99_000, (i) => i + 1)] },
  {
    name: 'many numbers of the wrong type',
    spec: integers,
    specs: () => [many(99_000, () => 'x'), many(99_000, () => 'y')],
  },
  {
    name: 'many small objects',
    spec: {
      type: 'array',
      items: { type: 'object', required: ['name'], properties: { name: text, port: { type: 'integer' } } },
    },
    specs: () => [many(19_000, (i) => ({ name: `n${i}`, port: i })), many(19_000, (i) => ({ name: `n${i}`, port: 0 }))],
  },
  {
    name: 'a set of texts',
    spec: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
    specs: () => [many(99_000, (i) => `v${i}`), many(99_000, () => 'v')],
  },
  {
    name: 'a set of objects',
    spec: {
      type: 'array',
      'x-kubernetes-list-type': 'set',
      items: { ...openObject, 'x-kubernetes-map-type': 'atomic' },
    },
    specs: () => [many(19_000, (i) => ({ a: i, b: 'x' })), many(19_000, () => ({ a: 1, b: 'x' }))],
  },
  {
    name: 'sets in sets',
    spec: nested<object>(30, text, (inner) => ({
      type: 'array',
      'x-kubernetes-list-type': 'set',
      items: { ...inner, ...('items' in inner ? { 'x-kubernetes-list-type': 'atomic' } : {}) },
    })),
    specs: () => [
      nested<unknown>(
        29,
        many(90_000, (i) => `v${i}`),
        (inner) => [inner],
      ),
      nested<unknown>(
        29,
        many(90_000, () => 'v'),
        (inner) => [inner],
      ),
    ],
  },
  {
    name: 'a map of objects',
    spec: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name', 'port'],
      items: { type: 'object', required: ['name', 'port'], properties: { name: text, port: { type: 'integer' } } },
    },
    specs: () => [many(19_000, (i) => ({ name: `n${i}`, port: i })), many(19_000, () => ({ name: 'n', port: 1 }))],
  },
  {
    name: 'maps in maps',
    spec: nested<object>(24, { type: 'object', properties: { name: text } }, (inner) => ({
      type: 'object',
      required: ['name'],
      properties: {
        name: text,
        list: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { ...inner, required: ['name'] },
        },
      },
    })),
    specs: () => [
      nested<object>(24, { name: 'x' }, (inner) => ({
        name: 'x',
        list: [inner, ...many(1200, (i) => ({ name: `n${i}` }))],
      })),
      nested<object>(24, { name: 'x' }, (inner) => ({
        name: 'x',
        list: [inner, ...many(1200, () => ({ name: 'n' }))],
      })),
    ],
  },
  {
    name: 'a long text under a pattern',
    spec: { type: 'string', pattern: '^([a-z]{0,63})*$' },
    specs: () => ['x'.repeat(14_900), 'y'.repeat(1_000_000)],
  },
  {
    name: 'a long text under a large pattern',
    spec: { type: 'string', pattern: `(${'[a-z]|[a-y]|'.repeat(300)}b){1,2}c$` },
    specs: () => ['x'.repeat(100_000), 'y'.repeat(70_000)],
  },
  {
    name: 'nested repetition',
    spec: { type: 'string', pattern: '(.{0,30}a.{0,30}){5}#' },
    specs: () => [`#${'ab'.repeat(1600)}`, `#${'aabab'.repeat(640)}`],
  },
  {
    name: 'nested repetition, many texts',
    spec: { type: 'array', items: { type: 'string', pattern: '(.{0,30}a.{0,30}){5}#' } },
    specs: () => [many(28, (i) => `#${'ab'.repeat(1400)}${i}`), many(1000, (i) => `#${'ab'.repeat(1400)}${i}`)],
  },
  {
    name: 'alternatives, repeated',
    spec: { type: 'string', pattern: '^(?:.?){950}$' },
    specs: () => ['a'.repeat(1040), 'b'.repeat(1040)],
  },
  {
    name: 'dots and classes',
    spec: { type: 'string', pattern: '(.*)(.*)(.*)(.*)(.*)(.*)[\\p{L}]{0,200}x$' },
    specs: () => ['\u00e9'.repeat(300_000), '\u00e9'.repeat(100_000)],
  },
  {
    name: 'many short texts under a pattern',
    spec: { type: 'array', items: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' } },
    specs: () => [many(90_000, (i) => `name-${i}-of-many`), many(90_000, (i) => `-name-${i}`)],
  },
  {
    name: 'formats',
    spec: { type: 'array', items: { type: 'string', format: 'date-time' } },
    specs: () => [many(90_000, () => '2026-01-01T00:00:00Z'), many(80_000, () => '2026-01-01T00:00:00')],
  },
  {
    name: 'a long uri',
    spec: { type: 'string', format: 'uri' },
    specs: () => [`http://${'a'.repeat(3_100_000)}`, `http://${'@'.repeat(2_900_000)}`],
  },
  {
    name: 'a long email',
    spec: { type: 'string', format: 'byte' },
    specs: () => ['ab=='.repeat(700_000), 'abcd'.repeat(700_000)],
  },
  {
    name: 'combinations over items',
    spec: {
      type: 'array',
      items: {
        type: 'object',
        properties: { a: text },
        anyOf: many(500, (i) => ({ required: [`x${i}`], properties: { a: { minLength: 3 } } })),
      },
    },
    specs: () => [many(30_000, () => ({ a: 'x' })), many(300, () => ({ a: 'x' }))],
  },
  {
    name: 'one of many',
    spec: { type: 'string', oneOf: many(4000, (i) => ({ maxLength: i + 1 })) },
    specs: () => ['x'.repeat(3_000_000), 'x'],
  },
  {
    name: 'not, in not',
    spec: {
      type: 'array',
      items: { type: 'integer', not: nested<object>(80, { minimum: 5 }, (inner) => ({ not: inner })) },
    },
    specs: () => [many(90_000, (i) => i), many(2000, (i) => i)],
  },
  {
    name: 'a long required, repeated',
    spec: { type: 'array', items: { type: 'object', required: many(45_000, () => 'a'), properties: { a: text } } },
    specs: () => [many(20_000, () => ({ a: 'x' })), many(500, () => ({ a: 'x' }))],
  },
  {
    name: 'enums of objects on every level',
    spec: nested<object>(45, openObject, (inner) => ({ type: 'object', properties: { a: inner }, enum: [{ a: 1 }] })),
    specs: () => [
      nested<unknown>(
        45,
        members(45_000, (i) => i),
        (inner) => ({ a: inner }),
      ),
      nested<unknown>(45, {}, (inner) => ({ a: inner })),
    ],
  },
  {
    name: 'enums of objects over items',
    spec: { type: 'array', items: { ...openObject, enum: many(2000, (i) => ({ a: i })) } },
    specs: () => [many(30_000, (i) => ({ a: i % 2000 })), many(30_000, (i) => ({ b: i }))],
  },
  {
    name: 'faults on every level',
    spec: nested<object>(45, { type: 'string' }, (inner) => ({
      type: 'object',
      required: ['absent'],
      properties: { a: inner, b: openObject },
    })),
    specs: () => [
      nested<unknown>(45, 1, (inner) => ({ a: inner, b: members(1000, (i) => i) })),
      nested<unknown>(45, 2, (inner) => ({ a: inner, b: members(1000, (i) => i) })),
    ],
  },
  {
    name: 'defaults of many items',
    spec: {
      type: 'array',
      items: { type: 'object', properties: members(10, () => ({ type: 'string', default: 'x' })) },
    },
    specs: () => [many(9000, () => ({})), many(20_000, () => ({}))],
  },
  {
    name: 'deep values',
    spec: nested<object>(45, text, (inner) => ({
      type: 'object',
      properties: { a: inner, b: { type: 'array', items: { type: 'integer' } } },
    })),
    specs: () => [
      nested<unknown>(45, 'x', (inner) => ({ a: inner, b: many(2000, (i) => i) })),
      nested<unknown>(45, 'y', (inner) => ({ a: inner, b: many(2000, (i) => i) })),
    ],
  },
  {
    name: 'sixty-four indexes on one list',
    spec: { type: 'object', properties: { list: integers } },
    extra: { indexes: many(64, (i) => ({ name: `n${i}`, path: 'spec.list[*]', type: 'integer' })) },
    specs: () => [{ list: many(95_000, (i) => i % 780) }, { list: many(95_000, (i) => i % 10_000) }],
  },
  {
    name: 'sixty-four indexes of dates',
    spec: { type: 'object', properties: { list: { type: 'array', items: text } } },
    extra: { indexes: many(64, (i) => ({ name: `n${i}`, path: 'spec.list[*]', type: 'date' })) },
    specs: () => [
      { list: many(780, (i) => new Date(i * 1000).toISOString()) },
      { list: many(10_000, (i) => new Date(i * 1000).toISOString()) },
    ],
  },
];

/** Objects of maximum size under schemas with maximum cost. */
export function objectCases(): HoldCase[] {
  const validated = hostile.map(({ name, spec, extra, specs }, position): HoldCase => {
    const plural = `objs${position}s`;
    const versions = [
      { schema: withSpec(spec), ...(extra === undefined ? {} : { extra }) },
      { schema: withSpec(spec), ...(extra === undefined ? {} : { extra }) },
    ];
    return {
      name: `object: ${name}`,
      prepare: (server) => define(server, plural, versions),
      requests: (round) => {
        const [first, second] = specs();
        const post = (content: unknown, suffix: string): MeasuredRequest =>
          send('POST', collectionOf(plural), object(plural, `o${round}${suffix}`, { spec: content }));
        const put = (content: unknown, version = 'v1'): MeasuredRequest =>
          send(
            'PUT',
            `${collectionOf(plural, version)}/o${round}a`,
            object(plural, `o${round}a`, { spec: content }, version),
          );
        return [
          post(first, 'a'),
          post(second, 'b'),
          put(first),
          put(second),
          put(first, 'v2'),
          send('DELETE', `${collectionOf(plural)}/o${round}b`, {}),
        ];
      },
    };
  });
  return [...validated, ratcheted(), ...applied()];
}

/** Large lists and maps by their items, applied and taken over: first one value, then another. */
function applied(): HoldCase[] {
  const keyed = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: { type: 'object', required: ['name'], properties: { name: text, port: { type: 'integer' } } },
  };
  const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: text };
  const kinds: [name: string, spec: object, make: (prefix: string) => unknown][] = [
    ['a set of texts', set, (prefix) => many(40_000, (i) => `${prefix}${i}`)],
    ['a list with keys', keyed, (prefix) => many(15_000, (i) => ({ name: `${prefix}${i}`, port: i }))],
    ['a map of texts', { type: 'object', additionalProperties: text }, (prefix) => members(40_000, () => 'x', prefix)],
  ];
  return kinds.map(([name, spec, make], position) => {
    const plural = `applied${position}s`;
    return {
      name: `apply: ${name}`,
      prepare: (server) => define(server, plural, [{ schema: withSpec(spec) }]),
      requests: (round) => {
        const apply = (manager: string, prefix: string): MeasuredRequest => ({
          ...send(
            'PATCH',
            `${collectionOf(plural)}/o${round}?fieldManager=${manager}&force=true`,
            object(plural, `o${round}`, { spec: make(prefix) }),
          ),
          headers: { 'Content-Type': 'application/apply-patch+yaml' },
        });
        return [apply('a', 'x'), apply('a', 'x'), apply('b', 'x'), apply('a', 'y')];
      },
    };
  });
}

/** Stored without rules, changed under many. */
function ratcheted(): HoldCase {
  const plural = 'ratchets';
  const deep = (leaf: number): unknown =>
    nested<unknown>(45, leaf, (inner) => ({ a: inner, b: members(1000, (i) => i) }));
  const strict = nested<object>(45, { type: 'string' }, (inner) => ({
    type: 'object',
    required: ['absent'],
    properties: { a: inner, b: openObject },
  }));
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.holds.svc.example`;
  return {
    name: 'object: faults that were there before, on every level',
    prepare: once(async (server) => {
      await define(server, plural, [{ schema: withSpec(openObject) }]);
      for (const round of [0, 1])
        await server.expect(send('POST', collectionOf(plural), object(plural, `o${round}`, { spec: deep(1) })));
      await server.expect({
        ...send('PATCH', path, [
          { op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: withSpec(strict) },
        ]),
        headers: { 'Content-Type': 'application/json-patch+json' },
      });
    }),
    requests: (round) => [
      {
        ...send('PATCH', `${collectionOf(plural)}/o${round}`, { metadata: { labels: { a: 'b' } } }),
        headers: { 'Content-Type': 'application/merge-patch+json' },
      },
      send('PUT', `${collectionOf(plural)}/o${round}`, object(plural, `o${round}`, { spec: deep(2) })),
    ],
  };
}

function send(method: string, path: string, body: unknown): MeasuredRequest {
  return { method, path, body: JSON.stringify(body) };
}
