import { describe, expect, test } from '@jest/globals';
import { transformSync } from 'esbuild';
import fc from 'fast-check';
import { Type } from 'typebox';
import type { JsonSchema, Model } from '#pkg/apimachinery/index';
import { builtinModels, modelFromDefinition } from '#pkg/apis/index';
import { defineModel } from '../model/define-model.ts';
import { index, multiIndex } from '../model/model-index.ts';
import { generateTypes } from './generate-types.ts';
import { docComment, propertyName, stringLiteral } from './source-text.ts';
import { TypeNamer } from './type-names.ts';
import { typeText } from './type-text.ts';

function modelOf(
  schema: unknown,
  { kind = 'Post', plural = 'posts', group = 'blog.example.com', namespaced = false, version = 'v1' } = {},
): Model {
  return {
    group,
    names: { plural, singular: plural, kind, listKind: `${kind}List`, shortNames: [], categories: [] },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    versions: [
      {
        name: version,
        served: true,
        deprecated: false,
        schema: schema as JsonSchema,
        subresources: { status: false },
        printerColumns: [],
        selectableFields: [],
      },
    ],
    storageVersion: version,
    indexes: [],
    nameRule: 'model',
  };
}

const textOf = (model: Model): string => generateTypes([model], { sdk: './sdk.ts' }).get(`${model.group}/v1.ts`) ?? '';

test('a model in code is generated as its types', () => {
  const Post = defineModel({
    group: 'blog.example.com',
    version: 'v1',
    kind: 'Post',
    plural: 'posts',
    singular: 'post',
    spec: Type.Object({
      title: Type.String({ description: 'What readers see first.' }),
      state: Type.Optional(
        Type.Union([Type.Literal('draft'), Type.Literal('public'), Type.Null()], { default: 'draft' }),
      ),
      'foo-bar': Type.Optional(Type.Array(Type.Union([Type.Integer(), Type.String()]))),
      labels: Type.Optional(Type.Record(Type.String(), Type.Object({ colour: Type.Optional(Type.String()) }))),
      data: Type.Optional(Type.Unknown()),
    }),
    status: Type.Object({ words: Type.Optional(Type.Integer()) }),
    indexes: [index('spec.title')],
  });
  expect(textOf(modelFromDefinition(Post.definition)))
    .toBe(`/* Written by \`svc generate types\`: to change it, change the models and write it anew. */
import type * as svc from './sdk.ts';

export interface PostSpec {
  data?: svc.JsonValue;
  'foo-bar'?: (number | string)[];
  labels?: { [key: string]: {
    colour?: string;
  } };
  /** Default: "draft" */
  state?: 'draft' | 'public' | null;
  /** What readers see first. */
  title: string;
}

export interface PostStatus {
  words?: number;
}

export interface Post extends svc.ApiObject<PostSpec, PostStatus> {
  spec: PostSpec;
}

export type PostIndexes = {
  'spec.title': string;
};

export const Post: svc.IndexedResourceType<Post, PostIndexes> = {
  group: 'blog.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: false,
  hasStatusSubresource: true,
};

/** Post through a Client. */
export class PostClient {
  readonly #client: svc.Client;

  constructor(client: svc.Client) {
    this.#client = client;
  }

  get(name: string, options?: svc.RequestOptions): Promise<svc.Stored<Post>> {
    return this.#client.get(Post, { namespace: '', name }, options);
  }

  list(options?: svc.ListOptions): Promise<svc.ObjectList<Post>> {
    return this.#client.list(Post, options);
  }

  watch(options: svc.WatchOptions): Promise<svc.EventStream<Post>> {
    return this.#client.watch(Post, options);
  }

  create(object: Post, options?: svc.WriteOptions): Promise<svc.Stored<Post>> {
    return this.#client.create(Post, object, options);
  }

  update(object: Post, options?: svc.WriteOptions): Promise<svc.Stored<Post>> {
    return this.#client.update(Post, object, options);
  }

  patch(name: string, patch: svc.Patch, options?: svc.WriteOptions): Promise<svc.Stored<Post>> {
    return this.#client.patch(Post, { namespace: '', name }, patch, options);
  }

  apply(configuration: svc.ApplyConfiguration<Post>, options?: svc.ApplyOptions): Promise<svc.Stored<Post>> {
    return this.#client.apply(Post, configuration, options);
  }

  delete(name: string, options?: svc.DeleteOptions): Promise<svc.Deletion<Post>> {
    return this.#client.delete(Post, { namespace: '', name }, options);
  }

  updateStatus(object: Post, options?: svc.WriteOptions): Promise<svc.Stored<Post>> {
    return this.#client.updateStatus(Post, object, options);
  }

  patchStatus(name: string, patch: svc.Patch, options?: svc.WriteOptions): Promise<svc.Stored<Post>> {
    return this.#client.patchStatus(Post, { namespace: '', name }, patch, options);
  }

  applyStatus(configuration: svc.ApplyConfiguration<Post>, options?: svc.ApplyOptions): Promise<svc.Stored<Post>> {
    return this.#client.applyStatus(Post, configuration, options);
  }
}
`);
});

test('for a browser a model has its indexes and lists, and no client', () => {
  const Host = defineModel({
    group: 'net.example.com',
    version: 'v1',
    kind: 'Host',
    plural: 'hosts',
    singular: 'host',
    spec: Type.Object({
      port: Type.Integer(),
      tags: Type.Array(Type.String(), { 'x-kubernetes-list-type': 'set' }),
      rules: Type.Array(
        Type.Object({ name: Type.String(), peers: Type.Array(Type.String(), { 'x-kubernetes-list-type': 'set' }) }),
        {
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      ),
    }),
    indexes: [index('spec.port'), multiIndex('spec.tags[*]', { name: 'tag' })],
  });
  const text = generateTypes([modelFromDefinition(Host.definition)], { target: 'browser' }).get(
    'net.example.com/v1.ts',
  )!;
  expect(text).toContain("import type * as svc from '@svc/client';\n");
  expect(text.slice(text.indexOf('export type HostIndexes'))).toBe(`export type HostIndexes = {
  'spec.port': number;
  tag: string;
};

export const Host: svc.WebModel<Host, HostIndexes> = {
  group: 'net.example.com',
  version: 'v1',
  kind: 'Host',
  plural: 'hosts',
  namespaced: false,
  hasStatusSubresource: false,
  lists: { 'spec.tags': [], 'spec.rules': ['name'], 'spec.rules[*].peers': [] },
};
`);
});

const types: [string, unknown, string][] = [
  ['a text', { type: 'string' }, 'string'],
  ['a number', { type: 'integer', nullable: true }, 'number | null'],
  ['an enum with null', { type: 'string', nullable: true, enum: ['a', "it's", null, 'a'] }, "'a' | 'it\\'s' | null"],
  ['an enum of numbers', { type: 'integer', enum: [1, -2] }, '1 | -2'],
  [
    'an enum of objects',
    { type: 'object', enum: [{}], 'x-kubernetes-preserve-unknown-fields': true },
    'svc.JsonObject',
  ],
  [
    'integer or string',
    { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    'number | string',
  ],
  ['a list of lists', { type: 'array', items: { type: 'array', items: { type: 'boolean' } } }, '(boolean[])[]'],
  ['a list of literals', { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, "('a' | 'b')[]"],
  [
    'a map',
    { type: 'object', additionalProperties: { type: 'string', nullable: true } },
    '{ [key: string]: string | null }',
  ],
  ['a map of anything', { type: 'object', additionalProperties: true }, 'svc.JsonObject'],
  ['an empty object', { type: 'object' }, '{ [key: string]: never }'],
  ['any value', { 'x-kubernetes-preserve-unknown-fields': true, nullable: true }, 'svc.JsonValue'],
  [
    'an open object',
    {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string' } },
      'x-kubernetes-preserve-unknown-fields': true,
    },
    '{\n  a: string;\n  [key: string]: unknown;\n}',
  ],
  [
    'an embedded resource',
    { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
    '{\n  apiVersion?: string;\n  kind?: string;\n  metadata?: svc.JsonObject;\n  spec?: { [key: string]: never };\n}',
  ],
  ['no schema', null, 'svc.JsonValue'],
  ['a wrong type', { type: 'text' }, 'svc.JsonValue'],
  ['wrong keywords', { type: 'object', properties: 'x', required: 1, enum: 'a' }, '{ [key: string]: never }'],
  ['no items', { type: 'array' }, 'svc.JsonValue[]'],
];
test.each(types)('%s', (_case, schema, expected) => {
  expect(typeText(schema, '')).toBe(expected);
});

test('beyond the maximum depth of a schema any value is allowed', () => {
  let schema: unknown = { type: 'string' };
  for (let level = 0; level < 50_000; level += 1) schema = { type: 'array', items: schema };
  expect(typeText(schema, '')).toContain('svc.JsonValue');
});

describe('files', () => {
  test('exist for each group and served version, in any order', () => {
    const models = [
      ...builtinModels,
      modelOf({}),
      modelOf({}, { plural: 'tags', kind: 'Tag', namespaced: true }),
      modelOf({}, { group: 'a.example.com', version: 'v1beta1' }),
    ];
    const files = generateTypes(models);
    expect([...files.keys()]).toEqual([
      'a.example.com/v1beta1.ts',
      'apiextensions.k8s.io/v1.ts',
      'blog.example.com/v1.ts',
      'console.svc.run/v1alpha1.ts',
      'coordination.k8s.io/v1.ts',
      'core/v1.ts',
      'plugin.svc.run/v1alpha1.ts',
      'rbac.authorization.k8s.io/v1.ts',
    ]);
    expect(generateTypes(models.toReversed())).toEqual(files);
    expect(files.get('blog.example.com/v1.ts')).toMatch(
      /class PostClient[^]*get\(name: string[^]*class TagClient[^]*get\(key: svc\.ObjectKey/,
    );
    const retired = modelOf({});
    expect(
      generateTypes([{ ...retired, versions: retired.versions.map((version) => ({ ...version, served: false })) }])
        .size,
    ).toBe(0);
  });

  test.each(['../x', 'a/b', '.', '..', 'a..b', 'A', 'a b', 'a'.repeat(300), 'a\u0000', '-a'])(
    '%j is not a folder',
    (group) => {
      expect(() => generateTypes([modelOf({}, { group })])).toThrow('cannot be the name of a file');
      expect(() =>
        generateTypes([modelOf({}, { version: group.slice(0, 5) === 'aaaaa' ? group : `${group}/` })]),
      ).toThrow('cannot be the name of a file');
    },
  );
});

test('names are unique identifiers', () => {
  const giver = new TypeNamer();
  const given = ['Foo', 'foo', 'Foo-bar', 'FooBar', 'FooSpec', 'Promise', '9lives', '---', 'Object', 'Ünï'].map(
    (kind) => giver.namesFor(kind).object,
  );
  expect(given).toEqual([
    'Foo',
    'Foo2',
    'FooBar',
    'FooBar2',
    'FooSpec2',
    'Promise2',
    'Kind9lives',
    'Kind',
    'Object2',
    'N',
  ]);
});

describe('hostile schemas', () => {
  const nasty = [
    '*/ evil(); /*',
    '/** @ts-nocheck */',
    '// @ts-ignore',
    '`${evil()}`',
    "'; evil(); '",
    '"; evil(); "',
    '\\',
    "\\'",
    '\\u0027',
    '}; evil(); {',
    '\n evil()',
    '\u2028evil()',
    '\u2029',
    '\r',
    '\u0000',
    '\ud800',
    '\u202e',
    '\u200b',
    '__proto__',
    'constructor',
    'get',
    'new',
    'readonly a',
    '[key: string]',
    '#a',
    '?',
    'a?: any; b',
    '',
    ' ',
    '*',
    '/',
    '*\\/',
    '<script>',
    '//# sourceMappingURL=x',
    'ü😀',
  ];
  const text = fc.oneof(
    fc.constantFrom(...nasty),
    fc.array(fc.constantFrom(...nasty), { maxLength: 3 }).map((parts) => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 10 }),
  );
  const schema = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      fc.record(
        {
          type: fc.constantFrom<unknown>('string', 'object', text, 1),
          enum: fc.array(
            fc.oneof<fc.Arbitrary<unknown>[]>(text, fc.double(), fc.boolean(), fc.constant(null), fc.constant({})),
          ),
          description: text,
          default: fc.jsonValue(),
          nullable: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          type: fc.constant('object'),
          properties: fc.dictionary(text, tie('node'), { maxKeys: 4 }),
          required: fc.array(text),
          description: text,
          'x-kubernetes-preserve-unknown-fields': fc.boolean(),
          'x-kubernetes-embedded-resource': fc.boolean(),
        },
        { requiredKeys: ['type', 'properties'] },
      ),
      fc.record({ type: fc.constant('array'), items: tie('node') }),
      fc.record({ type: fc.constant('object'), additionalProperties: tie('node'), title: text }),
      fc.constantFrom<unknown>(null, true, 1, 'x', []),
    ),
  })).node;
  const codeOf = (model: Model): string =>
    transformSync(textOf(model), { loader: 'ts', minifyWhitespace: true, legalComments: 'none', target: 'node20' })
      .code;

  test('no part of a schema becomes code: without types and comments all models are equal', () => {
    const plain = codeOf(modelOf({}));
    fc.assert(
      fc.property(schema, schema, text, (spec, status, description) => {
        const root = {
          type: 'object',
          description,
          properties: { spec, status, [description]: spec },
          required: ['spec', description],
        };
        expect(codeOf(modelOf(root))).toBe(plain);
        expect(textOf(modelOf(root))).not.toMatch(
          /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|^ *\/?\*.*(?:@ts-|sourceMappingURL)/mu,
        );
      }),
      { numRuns: 300 },
    );
  });

  test('a literal holds its text unchanged', () => {
    fc.assert(
      fc.property(text, (given) => {
        // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- the literal is what is tested
        expect((new Function(`return ${stringLiteral(given)}`) as () => string)()).toBe(given);
      }),
    );
    expect([propertyName('a_$1'), propertyName('1a'), propertyName("it's")]).toEqual(['a_$1', "'1a'", "'it\\'s'"]);
  });

  test('a comment is one comment', () => {
    expect(docComment(['a */ b', undefined, ' c\r\nd \t'])).toBe('/**\n * a *\\/ b\n *\n *  c\n * d\n */\n');
    expect(docComment([undefined, ' \n', ''])).toBe('');
  });
});
