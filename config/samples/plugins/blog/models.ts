import { computedIndex, defineModel, index, multiIndex, Type, type ObjectOf } from '@svc/sdk';

const group = 'blog.example.com';
const version = 'v1';

/** The alphabet of names: a tag in a post is the name of a Tag. */
const namePattern = '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$';

export const slugSchema = Type.String({
  pattern: namePattern,
  maxLength: 100,
  description: "The post's part of its address.",
});
export const tagSchema = Type.String({ pattern: namePattern, maxLength: 63 });

const phase = Type.Union([Type.Literal('Draft'), Type.Literal('Scheduled'), Type.Literal('Published')]);

const condition = Type.Object({
  type: Type.String(),
  status: Type.Union([Type.Literal('True'), Type.Literal('False'), Type.Literal('Unknown')]),
  reason: Type.String(),
  message: Type.String(),
  lastTransitionTime: Type.String({ format: 'date-time' }),
  observedGeneration: Type.Optional(Type.Integer()),
});

export const Post = defineModel({
  group,
  version,
  kind: 'Post',
  plural: 'posts',
  singular: 'post',
  categories: ['blog'],
  spec: Type.Object({
    title: Type.String({ minLength: 1, maxLength: 100, description: 'As readers see it.' }),
    slug: slugSchema,
    content: Type.Optional(Type.String({ maxLength: 100_000 })),
    tags: Type.Optional(Type.Array(tagSchema, { maxItems: 20, uniqueItems: true })),
    publish: Type.Optional(Type.Boolean({ default: false, description: 'May readers see it?' })),
    publishAt: Type.Optional(Type.String({ format: 'date-time', description: 'Not before then.' })),
  }),
  status: Type.Object({
    phase: Type.Optional(phase),
    publishedAt: Type.Optional(Type.String({ format: 'date-time' })),
    comments: Type.Optional(Type.Integer({ description: 'Approved ones.' })),
    observedGeneration: Type.Optional(Type.Integer()),
    conditions: Type.Optional(Type.Array(condition)),
  }),
  indexes: [
    index('spec.slug', { unique: true }),
    multiIndex('spec.tags[*]'),
    index('status.phase'),
    index('status.publishedAt'),
    computedIndex('initial', { key: 'initial', type: 'string' }),
  ],
  printerColumns: [
    { name: 'Title', type: 'string', jsonPath: '.spec.title' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Comments', type: 'integer', jsonPath: '.status.comments' },
  ],
});
export type Post = ObjectOf<typeof Post>;
export type PostPhase = NonNullable<NonNullable<Post['status']>['phase']>;

export const Tag = defineModel({
  group,
  version,
  kind: 'Tag',
  plural: 'tags',
  singular: 'tag',
  categories: ['blog'],
  spec: Type.Object({
    displayName: Type.String({ minLength: 1, maxLength: 100 }),
    description: Type.Optional(Type.String({ maxLength: 1000 })),
  }),
  status: Type.Object({ posts: Type.Optional(Type.Integer({ description: 'Published ones.' })) }),
  printerColumns: [{ name: 'Posts', type: 'integer', jsonPath: '.status.posts' }],
});
export type Tag = ObjectOf<typeof Tag>;

export const Comment = defineModel({
  group,
  version,
  kind: 'Comment',
  plural: 'comments',
  singular: 'comment',
  categories: ['blog'],
  spec: Type.Object({
    post: Type.String({ maxLength: 253, description: 'Name of the Post.' }),
    author: Type.String({ maxLength: 253 }),
    content: Type.String({ minLength: 1, maxLength: 5000 }),
    approved: Type.Optional(Type.Boolean({ default: false })),
  }),
  indexes: [index('spec.post'), index('spec.approved')],
  printerColumns: [
    { name: 'Post', type: 'string', jsonPath: '.spec.post' },
    { name: 'Author', type: 'string', jsonPath: '.spec.author' },
    { name: 'Content', type: 'string', jsonPath: '.spec.content' },
  ],
});
export type Comment = ObjectOf<typeof Comment>;
