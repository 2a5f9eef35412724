import {
  defineEndpoint,
  EndpointAnswer,
  isStatusError,
  newNotFound,
  Type,
  type Client,
  type ResourceType,
  type Stored,
} from '@svc/sdk';
import { ownerOf } from './controllers/discussion.ts';
import { Comment, Post, slugSchema, tagSchema } from './models.ts';

const where = { group: 'blog.example.com', version: 'v1' };

/** What readers see of a post. */
function shown({ spec: { title, slug, tags = [], content = '' }, status }: Stored<Post>): object {
  return { title, slug, tags, content, publishedAt: status?.publishedAt, comments: status?.comments ?? 0 };
}

/**
 * @throws StatusError 404 where readers see no such post; its schema keeps `slug` from being more than one value of a
 * selector
 */
async function publishedPost(client: Client, slug: string): Promise<Stored<Post>> {
  const [post] = (await client.list(Post, { fieldSelector: `spec.slug=${slug},status.phase=Published`, limit: 1 }))
    .items;
  if (post === undefined) throw newNotFound({ group: where.group, resource: 'posts' }, slug);
  return post;
}

const listPosts = defineEndpoint({
  ...where,
  audience: 'public',
  method: 'GET',
  path: '/posts',
  operationId: 'listPublishedPosts',
  summary: 'Published posts, newest first.',
  query: Type.Object({
    tag: Type.Optional(tagSchema),
    initial: Type.Optional(Type.String({ pattern: '^[A-Z#]$', description: 'Of the title.' })),
    size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 10 })),
    continue: Type.Optional(Type.String({ maxLength: 10_000, description: 'Of the answer before.' })),
  }),
  handler: async ({ query: { tag, initial, size = 10, continue: next } }, { client, signal }) => {
    // Their schemas keep the values from being more than values of a selector.
    const clauses = [
      'status.phase=Published',
      ...(tag === undefined ? [] : [`spec.tags=${tag}`]),
      ...(initial === undefined ? [] : [`initial=${initial}`]),
    ];
    const list = await client.list(Post, {
      fieldSelector: clauses.join(','),
      sort: ['status.publishedAt,desc'],
      limit: size,
      signal,
      ...(next === undefined ? {} : { continue: next }),
    });
    return { items: list.items.map(shown), ...(list.continue === undefined ? {} : { continue: list.continue }) };
  },
});

const readPost = defineEndpoint({
  ...where,
  audience: 'public',
  method: 'GET',
  path: '/posts/{slug}',
  operationId: 'readPublishedPost',
  summary: 'One published post, with its approved comments.',
  params: Type.Object({ slug: slugSchema }),
  handler: async ({ params: { slug } }, { client, signal }) => {
    const post = await publishedPost(client, slug);
    const comments = await client.list(Comment, {
      fieldSelector: `spec.post=${post.metadata.name},spec.approved=true`,
      sort: ['metadata.creationTimestamp'],
      limit: 100,
      signal,
    });
    return { ...shown(post), discussion: comments.items.map(({ spec: { author, content } }) => ({ author, content })) };
  },
});

const writeComment = defineEndpoint({
  ...where,
  audience: 'uc',
  method: 'POST',
  path: '/posts/{slug}/comments',
  operationId: 'writeComment',
  summary: 'Comments on a published post, as oneself; it is shown once approved.',
  params: Type.Object({ slug: slugSchema }),
  body: Type.Object({ content: Type.String({ minLength: 1, maxLength: 5000 }) }),
  handler: async ({ params: { slug }, body: { content }, user }, { client }) => {
    const post = await publishedPost(client, slug);
    const { name } = post.metadata;
    // Owned from its first moment: should the post be gone by now, the garbage collector takes the comment too.
    const metadata = { name: '', generateName: 'comment-', ownerReferences: [ownerOf(post)] };
    const comment = await client.create(Comment, {
      apiVersion: `${where.group}/${where.version}`,
      kind: 'Comment',
      metadata,
      spec: { post: name, author: user.name, content },
    });
    return new EndpointAnswer({
      status: 201,
      body: { name: comment.metadata.name, author: user.name, content, approved: false },
    });
  },
});

const setPublication = defineEndpoint({
  ...where,
  audience: 'console',
  method: 'PUT',
  path: '/posts/{name}/publication',
  operationId: 'setPublication',
  summary: 'Publishes a post, now or later, or takes it back.',
  body: Type.Object({ publish: Type.Boolean(), publishAt: Type.Optional(Type.String({ format: 'date-time' })) }),
  handler: async ({ params: { name = '' }, body: { publish, publishAt = null } }, { client }) =>
    client.patch(Post, { namespace: '', name }, { type: 'merge', patch: { spec: { publish, publishAt } } }),
});

const approveComments = defineEndpoint({
  ...where,
  audience: 'console',
  method: 'POST',
  path: '/comment-approvals',
  operationId: 'approveComments',
  summary: 'Approves the comments that wait, at most the 500 oldest.',
  handler: async (_request, { client, signal }) => {
    const { items } = await client.list(Comment, {
      fieldSelector: 'spec.approved=false',
      sort: ['metadata.creationTimestamp'],
      limit: 500,
      signal,
    });
    const approved = await Promise.all(items.map(({ metadata }) => approve(client, metadata.name)));
    return { message: `Comments approved: ${approved.filter(Boolean).length}` };
  },
});

/** False: somebody has deleted it. */
async function approve(client: Client, name: string): Promise<boolean> {
  try {
    await client.patch(Comment, { namespace: '', name }, { type: 'merge', patch: { spec: { approved: true } } });
    return true;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return false;
    throw error;
  }
}

const stats = defineEndpoint({
  ...where,
  audience: 'console',
  method: 'GET',
  path: '/stats',
  operationId: 'readStats',
  summary: 'How many posts of each phase there are, and comments that wait for approval.',
  handler: async (_request, { client, signal }) => {
    const posts = async (phase: string): Promise<number> =>
      count(client, Post, { fieldSelector: `status.phase=${phase}`, signal });
    const [Draft, Scheduled, Published, waiting] = await Promise.all([
      posts('Draft'),
      posts('Scheduled'),
      posts('Published'),
      count(client, Comment, { fieldSelector: 'spec.approved=false', signal }),
    ]);
    return { posts: { Draft, Scheduled, Published }, commentsWaiting: waiting };
  },
});

/** Chunk by chunk: there may be more objects than a plugin's memory holds. */
async function count(
  client: Client,
  type: ResourceType,
  options: { fieldSelector: string; signal: AbortSignal },
): Promise<number> {
  let total = 0;
  let next: string | undefined;
  do {
    const chunk = await client.list(type, {
      ...options,
      limit: 500,
      ...(next === undefined ? {} : { continue: next }),
    });
    total += chunk.items.length;
    next = chunk.continue;
  } while (next !== undefined);
  return total;
}

export const endpoints = [listPosts, readPost, writeComment, setPublication, approveComments, stats];
