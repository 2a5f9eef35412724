import { describe, expect, test } from '@jest/globals';
import { Type } from 'typebox';
import {
  selectionOf,
  type Client,
  type IndexedResourceType,
  type ObjectList,
  type Stored,
} from '#pkg/apimachinery/index';
import { defineModel, type ObjectOf } from './define-model.ts';
import { computedIndex, index, multiIndex, type ModelIndex } from './model-index.ts';

const names = { group: 'blog.example.com', version: 'v1', kind: 'Post', plural: 'posts', singular: 'post' };

const Post = defineModel({
  ...names,
  shortNames: ['po'],
  categories: ['all'],
  spec: Type.Object({
    title: Type.String({ minLength: 1, maxLength: 100, description: 'What readers see first.' }),
    slug: Type.String({ pattern: '^[a-z-]+$' }),
    tags: Type.Array(Type.String()),
    state: Type.Union([Type.Literal('draft'), Type.Literal('public')], { default: 'draft' }),
    publishedAt: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
    rating: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    links: Type.Optional(Type.Record(Type.String(), Type.Object({ url: Type.String() }))),
  }),
  status: Type.Object({ words: Type.Optional(Type.Integer()) }),
  indexes: [
    index('spec.slug', { unique: true, nullable: false }),
    index('spec.publishedAt', { name: 'published' }),
    multiIndex('spec.tags[*]'),
    index('status.words'),
    index("metadata.annotations['example.com/owner']", { name: 'owner' }),
  ],
  printerColumns: [{ name: 'Title', type: 'string', jsonPath: '.spec.title' }],
});
type Post = ObjectOf<typeof Post>;

const Tag = defineModel({
  ...names,
  kind: 'Tag',
  plural: 'tags',
  singular: 'tag',
  namespaced: true,
  spec: Type.Object({}),
});

describe('defineModel', () => {
  test('returns the definition', () => {
    expect(Post.definition).toEqual({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'posts.blog.example.com' },
      spec: {
        group: 'blog.example.com',
        scope: 'Cluster',
        names: { plural: 'posts', singular: 'post', kind: 'Post', shortNames: ['po'], categories: ['all'] },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                required: ['spec'],
                properties: {
                  spec: {
                    type: 'object',
                    required: ['title', 'slug', 'tags', 'state'],
                    properties: {
                      title: { type: 'string', minLength: 1, maxLength: 100, description: 'What readers see first.' },
                      slug: { type: 'string', pattern: '^[a-z-]+$' },
                      tags: { type: 'array', items: { type: 'string' } },
                      state: { type: 'string', enum: ['draft', 'public'], default: 'draft' },
                      publishedAt: { type: 'string', format: 'date-time', nullable: true },
                      rating: { type: 'number', minimum: 0, exclusiveMinimum: true },
                      links: {
                        type: 'object',
                        additionalProperties: {
                          type: 'object',
                          required: ['url'],
                          properties: { url: { type: 'string' } },
                        },
                      },
                    },
                  },
                  status: { type: 'object', properties: { words: { type: 'integer' } } },
                },
              },
            },
            subresources: { status: {} },
            indexes: [
              { name: 'spec.slug', path: 'spec.slug', type: 'string', unique: true, nullable: false },
              { name: 'published', path: 'spec.publishedAt', type: 'date' },
              { name: 'spec.tags', path: 'spec.tags[*]', type: 'string', multi: true },
              { name: 'status.words', path: 'status.words', type: 'integer' },
              { name: 'owner', path: "metadata.annotations['example.com/owner']", type: 'string' },
            ],
            additionalPrinterColumns: [{ name: 'Title', type: 'string', jsonPath: '.spec.title' }],
          },
        ],
      },
    });
  });

  test('returns the type for clients', () => {
    expect(Post).toMatchObject({
      group: 'blog.example.com',
      version: 'v1',
      kind: 'Post',
      plural: 'posts',
      namespaced: false,
      hasStatusSubresource: true,
    });
    expect(Tag).toMatchObject({ namespaced: true, hasStatusSubresource: false });
    expect(Tag.definition.spec.scope).toBe('Namespaced');
    expect(Tag.definition.spec.versions[0]).not.toHaveProperty('subresources');
  });

  const spec = Type.Object({
    title: Type.String(),
    tags: Type.Array(Type.String()),
    both: Type.Union([Type.Integer(), Type.String()]),
    any: Type.Unknown(),
    inner: Type.Object({}),
    map: Type.Record(Type.String(), Type.Integer()),
  });
  const refused: [string, Partial<typeof names>, ModelIndex[], string | RegExp][] = [
    ['a group without a dot', { group: 'blog' }, [], /spec\.group/],
    ['a plural in capitals', { plural: 'Posts' }, [], /spec\.names\.plural/],
    ['a reserved group', { group: 'blog.svc.run' }, [], /reserved for the platform/],
    ['an index of a missing field', {}, [index('spec.titel')], 'the index spec.titel leads to no field of the schema'],
    [
      'an index of unknown metadata',
      {},
      [index('metadata.selfLink')],
      'the index metadata.selfLink leads to no field of the schema',
    ],
    [
      'an index of a list',
      {},
      [index('spec.tags')],
      'the index spec.tags leads to a field of type array, which cannot be indexed; its items are spec.tags[*]',
    ],
    [
      'an index of an object',
      {},
      [index('spec.inner')],
      'the index spec.inner leads to a field of type object, which cannot be indexed',
    ],
    [
      'an index of integer or string',
      {},
      [index('spec.both')],
      'the index spec.both leads to a field of no certain type, which cannot be indexed',
    ],
    ['an index below any value', {}, [index('spec.any.x')], 'the index spec.any.x leads to no field of the schema'],
    ['a single index of a list', {}, [index('spec.tags[*]')], /leads to several values, which multiIndex takes/],
    ['a list index of a single value', {}, [multiIndex('spec.title')], /leads to one value/],
    ['an invalid path', {}, [index('spec..title')], /is no path: /],
    [
      'a duplicate name',
      {},
      [index('spec.title'), index('spec.map.a', { name: 'spec.title' })],
      /Duplicate value: "spec.title"/,
    ],
    ['a built-in name', {}, [index('spec.title', { name: 'metadata.name' })], /exists already in every model/],
    [
      'a computed key with an invalid name',
      {},
      [computedIndex('words', { key: 'a b', type: 'integer' })],
      /must be the name of an exported function/,
    ],
    [
      'several unique computed keys',
      {},
      [computedIndex('words', { key: 'words', type: 'string', multi: true, unique: true })],
      /cannot be unique/,
    ],
    ['a name of the prototype', {}, [index('spec.constructor')], /cannot be part of a path/],
  ];
  test.each(refused)('refuses %s', (_case, changed, indexes, message) => {
    expect(() => defineModel({ ...names, ...changed, spec, indexes })).toThrow(TypeError);
    expect(() => defineModel({ ...names, ...changed, spec, indexes })).toThrow(message);
  });
});

test('computed keys are declared by the function’s name, without its text', () => {
  const indexes = [
    computedIndex('words', { key: 'wordCount', type: 'integer' }),
    computedIndex('initials', { key: 'initials', type: 'string', multi: true, nullable: false }),
    computedIndex('title', { key: 'lower', type: 'string', unique: true }),
  ];
  const { definition } = defineModel({ ...names, spec: Type.Object({ title: Type.String() }), indexes });
  expect(definition.spec.versions[0]).toMatchObject({
    indexes: [
      { name: 'words', key: 'wordCount', type: 'integer' },
      { name: 'initials', key: 'initials', type: 'string', multi: true, nullable: false },
      { name: 'title', key: 'lower', type: 'string', unique: true },
    ],
  });
  expect(definition.spec.versions[0]).not.toHaveProperty('indexKeys');
});

/** Never called: only tsc checks it. */
export async function typesOf(client: Client): Promise<unknown[]> {
  const post: Post = {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name: 'a' },
    spec: { title: 'A', slug: 'a', tags: [], state: 'draft', publishedAt: null },
  };
  const read: Stored<Post> = await client.get(Post, { namespace: '', name: 'a' });
  const list: ObjectList<Post> = await client.list(Post);
  const title: string = read.spec.title;
  const words: number | undefined = read.status?.words;
  const url: string | undefined = read.spec.links?.['home']?.url;
  const state: 'draft' | 'public' = read.spec.state;

  // @ts-expect-error -- a field that the schema does not have
  const unknownField: unknown = read.spec.titel;
  // @ts-expect-error -- a required field is missing
  const missing: Post = { ...post, spec: { title: 'A', tags: [], state: 'draft' } };
  // @ts-expect-error -- a literal that is none of the union's
  const wrongLiteral: Post = { ...post, spec: { ...post.spec, state: 'gone' } };
  // @ts-expect-error -- of another type
  const wrongType: Post = { ...post, spec: { ...post.spec, title: 1 } };
  // @ts-expect-error -- the status has no such field
  const wrongStatus: Post = { ...post, status: { letters: 1 } };
  // @ts-expect-error -- an object of another model
  await client.create(Tag, post);
  // @ts-expect-error -- a model without status has none to write
  const statusOfTag: ObjectOf<typeof Tag> = { ...post, spec: {}, status: {} };
  // @ts-expect-error -- a computed key
  const computed = index((object: Post) => object.spec.slug);
  // @ts-expect-error -- a computed key, as a value
  const computedValue: ModelIndex = { ...index('spec.slug'), key: (object: Post) => object.spec.slug };
  // @ts-expect-error -- several values are never unique
  const uniqueMulti = multiIndex('spec.tags[*]', { unique: true });
  // @ts-expect-error -- a model's spec is an object
  const noObject = defineModel({ ...names, spec: Type.String() });

  return [
    title,
    words,
    url,
    state,
    list,
    unknownField,
    missing,
    wrongLiteral,
    wrongType,
    wrongStatus,
    statusOfTag,
    computed,
    computedValue,
    uniqueMulti,
    noObject,
  ];
}

/** The indexes of a model, which selections are checked against. Never called: only tsc checks it. */
export function indexTypesOf(client: Client): unknown[] {
  type IndexesOf<M> = M extends IndexedResourceType<infer _T, infer Indexes> ? Indexes : never;
  type IsSame<A, B> = [A, B] extends [B, A] ? true : false;
  const Recipe = defineModel({
    ...names,
    spec: Type.Object({
      steps: Type.Array(Type.Object({ minutes: Type.Optional(Type.Integer()) })),
      cooked: Type.Optional(Type.Boolean()),
    }),
    indexes: [
      multiIndex('spec.steps[*].minutes'),
      multiIndex('.spec.steps[*].minutes', { name: 'minutes' }),
      index('spec.cooked'),
      computedIndex('length', { key: 'length', type: 'integer' }),
      computedIndex('due', { key: 'due', type: 'date' }),
    ],
  });
  const ofPost: IsSame<
    IndexesOf<typeof Post>,
    {
      readonly 'spec.slug': string;
      readonly published: string;
      readonly 'spec.tags': string;
      readonly 'status.words': number;
      readonly owner: string | number | boolean;
    }
  > = true;
  const ofRecipe: IsSame<
    IndexesOf<typeof Recipe>,
    {
      readonly 'spec.steps.minutes': number;
      readonly minutes: number;
      readonly 'spec.cooked': boolean;
      readonly length: number;
      readonly due: string;
    }
  > = true;

  const select = {
    where: { 'spec.slug': { in: ['a', 'b'] }, 'status.words': { gte: 3 }, published: { exists: true } },
  };
  void client.list(Post, selectionOf(Post, { ...select, sort: ['status.words,desc', 'metadata.name'] }));
  void client.watch(Tag, { ...selectionOf(Tag, { labels: { lang: 'en' } }), resourceVersion: '1' });
  // @ts-expect-error -- no index has this name
  const unknownIndex = selectionOf(Post, { where: { 'spec.slgu': 'a' } });
  // @ts-expect-error -- a field without an index
  const withoutIndex = selectionOf(Post, { where: { 'spec.title': 'a' } });
  // @ts-expect-error -- a model without indexes
  const noIndexes = selectionOf(Tag, { where: { 'spec.slug': 'a' } });
  // @ts-expect-error -- a value of another type
  const wrongValue = selectionOf(Post, { where: { 'status.words': 'three' } });
  // @ts-expect-error -- a number has no prefix
  const wrongOperator = selectionOf(Post, { where: { 'status.words': { prefix: '3' } } });
  // @ts-expect-error -- an order by a field without an index
  const wrongSort = selectionOf(Post, { sort: ['spec.title,desc'] });
  return [ofPost, ofRecipe, unknownIndex, withoutIndex, noIndexes, wrongValue, wrongOperator, wrongSort];
}
