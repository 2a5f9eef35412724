import { deepStrictEqual } from 'node:assert/strict';
import { isStatusError, type Patch } from '../../../pkg/apimachinery/index.ts';
import type { FaultyRunOptions, FaultyWorld } from '../../../pkg/testenv/index.ts';
import { Comment, Post, Tag } from '../../../config/samples/plugins/blog/models.ts';

const posts = ['p0', 'p1', 'p2', 'p3'];
const tags = ['life', 'news', 'tech'];
const comments = Array.from({ length: 8 }, (_, i) => `c${i}`);
const past = '2020-02-02T02:02:02Z';
const future = '2220-02-02T02:02:02Z';
const apiVersion = 'blog.example.com/v1';

/** The users' actions of one run that the objects do not show. */
export class BlogScenario implements Pick<FaultyRunOptions, 'act' | 'expect'> {
  /** The posts of each comment that no user deleted. */
  readonly #postsOf = new Map<string, Set<string>>();
  readonly #deletedPosts = new Set<string>();

  /** Random actions of bloggers and readers. */
  readonly act = async (world: FaultyWorld): Promise<void> => {
    const { random } = world;
    for (const name of tags) if (random.chance(0.7)) await this.#createTag(world, name);
    for (const name of posts) if (random.chance(0.6)) await this.#createPost(world, name);
    for (let steps = 6 + random.below(15); steps > 0; steps -= 1) {
      await random.pick(this.#deeds)(world);
      await world.pause();
    }
  };

  /** The required state of a blog at rest. */
  readonly expect = async ({ client }: FaultyWorld): Promise<void> => {
    const [postList, tagList, commentList] = await Promise.all([
      client.list(Post),
      client.list(Tag),
      client.list(Comment),
    ]);
    const uids = new Map(postList.items.map(({ metadata: { name, uid } }) => [name, uid]));
    for (const post of postList.items) {
      const { publish = false, publishAt } = post.spec;
      const { publishedAt, conditions, ...status } = post.status ?? {};
      const phase = !publish ? 'Draft' : publishAt === future ? 'Scheduled' : 'Published';
      const approved = commentList.items.filter(
        ({ spec }) => spec.post === post.metadata.name && spec.approved === true,
      ).length;
      deepStrictEqual(
        status,
        { phase, comments: approved, observedGeneration: post.metadata.generation },
        `the status of ${post.metadata.name}`,
      );
      deepStrictEqual(
        conditions?.map(({ type, reason, observedGeneration }) => [type, reason, observedGeneration]),
        [['Published', phase, post.metadata.generation]],
        `the condition of ${post.metadata.name}`,
      );
      if (phase === 'Published' && publishAt === undefined)
        deepStrictEqual(
          Number.isNaN(Date.parse(publishedAt ?? '')),
          false,
          `${post.metadata.name} was published at some time`,
        );
      else
        deepStrictEqual(
          publishedAt,
          phase === 'Published' ? publishAt : undefined,
          `when ${post.metadata.name} was published`,
        );
    }
    for (const tag of tagList.items) {
      const published = postList.items.filter(
        ({ spec, status }) => status?.phase === 'Published' && spec.tags?.includes(tag.metadata.name) === true,
      ).length;
      deepStrictEqual(tag.status, { posts: published }, `the status of ${tag.metadata.name}`);
    }
    for (const { metadata, spec } of commentList.items) {
      const owner = uids.get(spec.post);
      deepStrictEqual(
        (metadata.ownerReferences ?? []).map(({ uid }) => uid),
        owner === undefined ? [] : [owner],
        `the owners of ${metadata.name}`,
      );
    }
    const there = new Set(commentList.items.map(({ metadata }) => metadata.name));
    for (const [comment, itsPosts] of this.#postsOf) {
      if (!there.has(comment) && [...itsPosts].every((post) => !this.#deletedPosts.has(post)))
        throw new Error(`${comment} was deleted, although neither it nor its post was deleted by the test`);
    }
  };

  readonly #deeds: readonly ((world: FaultyWorld) => Promise<unknown>)[] = [
    (world) => this.#createPost(world, world.random.pick(posts)),
    (world) => this.#createTag(world, world.random.pick(tags)),
    (world) => this.#createComment(world, world.random.pick(comments)),
    (world) => this.#createComment(world, world.random.pick(comments)),
    (world) =>
      patch(world, Post, posts, {
        publish: world.random.chance(0.7),
        publishAt: world.random.pick([null, past, future]),
      }),
    (world) => patch(world, Post, posts, { tags: tags.filter(() => world.random.chance(0.5)) }),
    (world) => patch(world, Post, posts, { title: `title ${world.random.below(100)}` }),
    (world) => patch(world, Comment, comments, { approved: world.random.chance(0.7) }),
    (world) => this.#moveComment(world),
    (world) => this.#deletePost(world),
    (world) => remove(world, Tag, tags),
    async (world) => {
      const deleted = await remove(world, Comment, comments);
      this.#postsOf.delete(deleted);
    },
  ];

  #createPost({ client, random, note }: FaultyWorld, name: string): Promise<void> {
    note(`create post ${name}`);
    const spec = {
      title: name,
      slug: name,
      tags: tags.filter(() => random.chance(0.4)),
      publish: random.chance(0.6),
      ...(random.chance(0.3) ? { publishAt: random.pick([past, future]) } : {}),
    };
    return allowing(client.create(Post, { apiVersion, kind: 'Post', metadata: { name }, spec }), 'AlreadyExists');
  }

  #createTag({ client, note }: FaultyWorld, name: string): Promise<void> {
    note(`create tag ${name}`);
    return allowing(
      client.create(Tag, { apiVersion, kind: 'Tag', metadata: { name }, spec: { displayName: name } }),
      'AlreadyExists',
    );
  }

  async #createComment({ client, random, note }: FaultyWorld, name: string): Promise<void> {
    const post = random.pick(posts);
    note(`create comment ${name} on ${post}`);
    const spec = { post, author: 'somebody', content: 'words', approved: random.chance(0.5) };
    await allowing(
      client
        .create(Comment, { apiVersion, kind: 'Comment', metadata: { name }, spec })
        .then(() => this.#postsOf.set(name, new Set([post]))),
      'AlreadyExists',
    );
  }

  async #moveComment(world: FaultyWorld): Promise<void> {
    const post = world.random.pick(posts);
    const name = await patch(world, Comment, comments, { post });
    this.#postsOf.get(name)?.add(post);
  }

  async #deletePost(world: FaultyWorld): Promise<void> {
    const name = await remove(world, Post, posts);
    this.#deletedPosts.add(name);
  }
}

type AnyModel = typeof Post | typeof Tag | typeof Comment;

/** Returns the name of the changed object, if it existed. */
async function patch(
  { client, random, note }: FaultyWorld,
  model: AnyModel,
  names: readonly string[],
  spec: Record<string, boolean | string | string[] | null>,
): Promise<string> {
  const name = random.pick(names);
  note(`change ${model.plural} ${name}: ${JSON.stringify(spec)}`);
  const change: Patch = { type: 'merge', patch: { spec } };
  await allowing(client.patch<never>(model as never, { namespace: '', name }, change), 'NotFound');
  return name;
}

async function remove(
  { client, random, note }: FaultyWorld,
  model: AnyModel,
  names: readonly string[],
): Promise<string> {
  const name = random.pick(names);
  note(`delete ${model.plural} ${name}`);
  await allowing(client.delete<never>(model as never, { namespace: '', name }), 'NotFound');
  return name;
}

async function allowing(work: Promise<unknown>, reason: 'AlreadyExists' | 'NotFound'): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isStatusError(error, reason)) throw error;
  }
}
