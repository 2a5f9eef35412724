import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call } from './api-call.ts';
import {
  anySpec,
  newDefinition,
  definitionsPath,
  schemaWithSpec,
  statusAndScale,
  version,
  type Definition,
} from './models-definition.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv();
});

afterAll(() => env?.stop());

type Change = (definition: Definition) => void;

const schemaOf = ({ spec }: Definition): { properties: Record<string, unknown> } =>
  (spec.versions[0]!['schema'] as { openAPIV3Schema: { properties: Record<string, unknown> } }).openAPIV3Schema;
const field =
  (schema: unknown): Change =>
  (wanted) => {
    schemaOf(wanted).properties['spec'] = { type: 'object', properties: { f: schema } };
  };
const inVersion =
  (more: Record<string, unknown>): Change =>
  ({ spec }) => {
    Object.assign(spec.versions[0]!, more);
  };
const indexes = (...list: unknown[]): Change => inVersion({ indexes: list });
const inSpec =
  (more: Record<string, unknown>): Change =>
  ({ spec }) => {
    Object.assign(spec, more);
  };
const inNames =
  (more: Record<string, unknown>): Change =>
  ({ spec }) => {
    Object.assign(spec.names, more);
  };

const schemaPath = 'spec.versions[0].schema.openAPIV3Schema';
const specField = `${schemaPath}.properties[spec].properties[f]`;

/** What is wrong, the change, and the prefix of the field that a cause must name. */
const wrong: [string, Change, string][] = [
  [
    'a name that is not plural.group',
    (d) => {
      d.metadata.name = `other.${d.spec.group}`;
    },
    'metadata.name',
  ],
  ['no group', inSpec({ group: '' }), 'spec.group'],
  [
    'a group that is not a domain',
    (d) => {
      d.spec.group = 'Not_A_Domain';
      d.metadata.name = 'posts.Not_A_Domain';
    },
    'spec.group',
  ],
  ['an unknown scope', inSpec({ scope: 'Galaxy' }), 'spec.scope'],
  ['no scope', inSpec({ scope: undefined }), 'spec.scope'],
  ['no kind', inNames({ kind: '' }), 'spec.names.kind'],
  ['no plural', inNames({ plural: '' }), 'spec.names.plural'],
  [
    'an upper-case plural',
    (d) => {
      d.spec.names['plural'] = 'Posts';
      d.metadata.name = `Posts.${d.spec.group}`;
    },
    'spec.names.plural',
  ],
  ['an upper-case singular', inNames({ singular: 'Post' }), 'spec.names.singular'],
  ['a kind that is not a name', inNames({ kind: 'Po st' }), 'spec.names.kind'],
  ['a list kind equal to the kind', inNames({ listKind: 'Post' }), 'spec.names.listKind'],
  ['an upper-case short name', inNames({ shortNames: ['PO'] }), 'spec.names.shortNames[0]'],
  ['a category that is not a name', inNames({ categories: ['A ll'] }), 'spec.names.categories[0]'],
  ['no versions', inSpec({ versions: [] }), 'spec.versions'],
  ['no storage version', inVersion({ storage: false }), 'spec.versions'],
  [
    'two storage versions',
    ({ spec }) => {
      spec.versions.push(version('v2', schemaWithSpec(anySpec)));
    },
    'spec.versions',
  ],
  [
    'the same version twice',
    ({ spec }) => {
      spec.versions.push(version('v1', schemaWithSpec(anySpec), { storage: false }));
    },
    'spec.versions',
  ],
  ['a version that is not a label', inVersion({ name: 'V_1' }), 'spec.versions[0].name'],
  ['no schema', inVersion({ schema: undefined }), 'spec.versions[0].schema'],
  ['a schema of another type', inVersion({ schema: { openAPIV3Schema: { type: 'string' } } }), `${schemaPath}.type`],
  ['a field without a type', field({}), `${specField}.type`],
  ['an unknown type', field({ type: 'text' }), `${specField}.type`],
  ['an array without items', field({ type: 'array' }), `${specField}.items`],
  [
    'properties next to additionalProperties',
    field({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } }),
    specField,
  ],
  ['uniqueItems', field({ type: 'array', items: { type: 'string' }, uniqueItems: true }), `${specField}.uniqueItems`],
  ['$ref', field({ type: 'object', $ref: '#/x' }), `${specField}.$ref`],
  ['a pattern that does not parse', field({ type: 'string', pattern: '(' }), `${specField}.pattern`],
  [
    'a pattern with a look-ahead, which no linear engine has',
    field({ type: 'string', pattern: '(?=a)b' }),
    `${specField}.pattern`,
  ],
  ['a pattern with a back-reference', field({ type: 'string', pattern: '(a)\\1' }), `${specField}.pattern`],
  ['multipleOf 0', field({ type: 'number', multipleOf: 0 }), `${specField}.multipleOf`],
  ['a negative length', field({ type: 'string', maxLength: -1 }), `${specField}.maxLength`],
  ['an empty enum', field({ type: 'string', enum: [] }), `${specField}.enum`],
  ['a default of the wrong type', field({ type: 'integer', default: 'x' }), `${specField}.default`],
  ['a default that violates its own rule', field({ type: 'integer', minimum: 5, default: 1 }), `${specField}.default`],
  ['a type inside allOf', field({ type: 'string', allOf: [{ type: 'string' }] }), `${specField}.allOf[0].type`],
  [
    'list-type map without keys',
    field({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      items: { type: 'object', properties: { k: { type: 'string' } }, required: ['k'] },
    }),
    `${specField}.x-kubernetes-list-map-keys`,
  ],
  [
    'an unknown list type',
    field({ type: 'array', 'x-kubernetes-list-type': 'bag', items: { type: 'string' } }),
    `${specField}.x-kubernetes-list-type`,
  ],
  [
    'a map key that is not a field',
    field({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: { type: 'object', properties: {} },
    }),
    `${specField}.x-kubernetes-list-map-keys`,
  ],
  ['int-or-string next to a type', field({ type: 'string', 'x-kubernetes-int-or-string': true }), specField],
  [
    'preserve-unknown-fields: false',
    field({ type: 'object', 'x-kubernetes-preserve-unknown-fields': false }),
    `${specField}.x-kubernetes-preserve-unknown-fields`,
  ],
  [
    'rules for metadata beyond name',
    (d) => {
      schemaOf(d).properties['metadata'] = { type: 'object', properties: { labels: { type: 'object' } } };
    },
    `${schemaPath}.properties[metadata]`,
  ],
  ['preserveUnknownFields', inSpec({ preserveUnknownFields: true }), 'spec.preserveUnknownFields'],
  [
    'scale without paths',
    inVersion({ subresources: { scale: {} } }),
    'spec.versions[0].subresources.scale.specReplicasPath',
  ],
  [
    'scale of replicas outside spec',
    inVersion({
      subresources: { scale: { specReplicasPath: '.status.replicas', statusReplicasPath: '.status.replicas' } },
    }),
    'spec.versions[0].subresources.scale.specReplicasPath',
  ],
  [
    'a column without a path',
    inVersion({ additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '' }] }),
    'spec.versions[0].additionalPrinterColumns[0].jsonPath',
  ],
  [
    'a column of an unknown type',
    inVersion({ additionalPrinterColumns: [{ name: 'A', type: 'colour', jsonPath: '.spec.a' }] }),
    'spec.versions[0].additionalPrinterColumns[0].type',
  ],
  [
    'a deprecation warning without deprecation',
    inVersion({ deprecationWarning: 'gone' }),
    'spec.versions[0].deprecationWarning',
  ],
  [
    'a selectable field that is not in the schema',
    inVersion({ selectableFields: [{ jsonPath: '.spec.absent' }] }),
    'spec.versions[0].selectableFields[0].jsonPath',
  ],
  [
    'a selectable field that is an object',
    inVersion({ selectableFields: [{ jsonPath: '.spec' }] }),
    'spec.versions[0].selectableFields[0].jsonPath',
  ],
  ['conversion by an unknown strategy', inSpec({ conversion: { strategy: 'Magic' } }), 'spec.conversion.strategy'],
  [
    'a conversion webhook without TLS',
    inSpec({
      conversion: {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'http://example.com/convert' } },
      },
    }),
    'spec.conversion.webhook.clientConfig.url',
  ],
  [
    'a k8s.io group without approval',
    (d) => {
      d.spec.group = 'things.k8s.io';
      d.metadata.name = 'posts.things.k8s.io';
    },
    'metadata.annotations',
  ],
  [
    'a kind of the platform',
    (d) => {
      d.spec.group = 'apiextensions.k8s.io';
      d.spec.names = { kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions' };
      d.metadata.name = 'customresourcedefinitions.apiextensions.k8s.io';
      d.metadata['annotations'] = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1' };
    },
    'spec.group',
  ],
  ['an index without a name', indexes({ path: 'spec.f', type: 'string' }), 'spec.versions[0].indexes[0].name'],
  [
    'two indexes with one name',
    indexes({ name: 'a', path: 'spec.f', type: 'string' }, { name: 'a', path: 'spec.g', type: 'string' }),
    'spec.versions[0].indexes[1].name',
  ],
  [
    'an index of an unknown type',
    indexes({ name: 'a', path: 'spec.f', type: 'blob' }),
    'spec.versions[0].indexes[0].type',
  ],
  ['an index without a path', indexes({ name: 'a', type: 'string' }), 'spec.versions[0].indexes[0].path'],
  [
    'an index whose path is none',
    indexes({ name: 'a', path: 'spec..f[', type: 'string' }),
    'spec.versions[0].indexes[0].path',
  ],
  [
    'a path with [*] for a single value',
    indexes({ name: 'a', path: 'spec.f[*]', type: 'string', multi: false }),
    'spec.versions[0].indexes[0]',
  ],
  [
    'a unique multi-value index',
    indexes({ name: 'a', path: 'spec.f[*]', type: 'string', multi: true, unique: true }),
    'spec.versions[0].indexes[0]',
  ],
  ...['metadata.name', 'metadata.labels', 'metadata.creationTimestamp', 'metadata.deletionTimestamp'].map(
    (name): [string, Change, string] => [
      `${name} declared again`,
      indexes({ name, path: 'spec.f', type: 'string' }),
      'spec.versions[0].indexes[0].name',
    ],
  ),
];

describe('a wrong definition is 422 and names the field', () => {
  test.each(wrong)('%s', async (_case, change, expected) => {
    const wanted = newDefinition({
      spec: { type: 'object', properties: { f: { type: 'string' }, g: { type: 'string' } } },
    });
    change(wanted);
    const answer = await call(env, definitionsPath, { method: 'POST', body: wanted });
    expect([answer.status, answer.body.reason]).toEqual([422, 'Invalid']);
    const fields = answer.body.details.causes!.map((cause) => cause.field);
    expect(fields).toEqual(
      expect.arrayContaining([expect.stringMatching(new RegExp(`^${expected.replaceAll(/[$.[\]]/g, '\\$&')}`))]),
    );
    const { body } = await call(env, definitionsPath);
    expect(body.items.map(({ metadata }) => metadata.name)).not.toContain(wanted.metadata.name);
  });
});

describe('refuses changes of', () => {
  const changes: [string, Change, string][] = [
    [
      'group',
      (d) => {
        d.spec.group = 'other.example.com';
      },
      '',
    ],
    ['plural', inNames({ plural: 'others' }), ''],
    ['scope', inSpec({ scope: 'Namespaced' }), 'spec.scope'],
    ['kind', inNames({ kind: 'Other' }), 'spec.names.kind'],
  ];
  test.each(changes)('%s', async (_case, change, expected) => {
    const wanted = newDefinition();
    await call(env, definitionsPath, { method: 'POST', body: wanted });
    change(wanted);
    const answer = await call(env, `${definitionsPath}/${wanted.metadata.name}`, { method: 'PUT', body: wanted });
    expect(answer.status).toBe(422);
    expect(answer.body.details.causes!.map((cause) => cause.field).join()).toContain(expected);
  });
});

describe('accepts', () => {
  const rules = {
    type: 'object',
    properties: { n: { type: 'integer' } },
    'x-kubernetes-validations': [{ rule: 'self.n > 0', message: 'positive' }],
  };
  const right: [string, Parameters<typeof newDefinition>[0]][] = [
    ['status and scale', { definitionVersion: statusAndScale }],
    [
      'every format',
      {
        spec: {
          type: 'object',
          properties: { a: { type: 'string', format: 'date-time' }, b: { type: 'string', format: 'unheard-of' } },
        },
      },
    ],
    [
      'int-or-string with anyOf',
      {
        spec: {
          type: 'object',
          properties: { p: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] } },
        },
      },
    ],
    [
      'fields named like inherited properties',
      {
        spec: {
          type: 'object',
          properties: {
            toString: { type: 'string' },
            hasOwnProperty: { type: 'integer' },
            valueOf: { type: 'boolean' },
          },
        },
      },
    ],
    [
      'a schema forty-five objects deep',
      {
        spec: Array.from({ length: 45 }).reduce<Record<string, unknown>>(
          (inner) => ({ type: 'object', properties: { d: inner } }),
          { type: 'string' },
        ),
      },
    ],
    [
      'nested logic',
      {
        spec: {
          type: 'object',
          properties: { a: { type: 'string' } },
          oneOf: [{ required: ['a'] }, { not: { required: ['a'] } }],
        },
      },
    ],
    [
      'columns',
      {
        definitionVersion: {
          additionalPrinterColumns: [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
        },
      },
    ],
  ];
  test.each(right)('%s', async (_case, options) => {
    const answer = await call(env, definitionsPath, { method: 'POST', body: newDefinition(options) });
    expect([answer.status, answer.text.slice(0, 0)]).toEqual([201, '']);
  });

  test('accepts rules in CEL, with a warning', async () => {
    const answer = await call(env, definitionsPath, { method: 'POST', body: newDefinition({ spec: rules }) });
    expect(answer.status).toBe(201);
    expect(answer.warnings.join('\n')).toMatch(/x-kubernetes-validations|CEL/);
  });

  test('unknown fields cause a warning, or an error if strict', async () => {
    const wanted = { ...newDefinition(), bogus: 1 };
    const strict = await call(env, `${definitionsPath}?fieldValidation=Strict`, { method: 'POST', body: wanted });
    expect([strict.status, strict.body.message]).toEqual([400, expect.stringContaining('unknown field "bogus"')]);
    const warned = await call(env, definitionsPath, { method: 'POST', body: wanted });
    expect([warned.status, warned.warnings]).toEqual([201, ['unknown field "bogus"']]);
  });
});
