import { controllerFor, enqueueMapped, writeChanges, type Client, type Stored } from '@svc/sdk';
import { Comment, Post } from '../models.ts';

/**
 * Counts the approved comments of each post, and makes the post their owner, so that the garbage collector takes them
 * with it. A comment that came before its post waits for it.
 */
export const discussion = controllerFor(Post)
  .named('discussion')
  .watches(
    Comment,
    enqueueMapped(({ spec }) => [{ namespace: '', name: spec.post }]),
  )
  .withIndex(Comment, 'post', ({ spec }) => [spec.post])
  .reconcile(async ({ name }, { client, lister }) => {
    const post = lister(Post).get({ namespace: '', name });
    const comments = lister(Comment).byIndex('post', name);
    for (const comment of comments) await settleOwner(client, post, comment);
    if (post === undefined) return;
    const approved = comments.filter(({ spec }) => spec.approved === true).length;
    await writeChanges(client, Post, post, { ...post, status: { ...post.status, comments: approved } });
  });

interface Owner {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

/** An owner reference to the post, as each of its comments has it. */
export function ownerOf({ apiVersion, kind, metadata: { name, uid } }: Stored<Post>): Owner {
  return { apiVersion, kind, name, uid, controller: true };
}

/**
 * What else owns a comment stays. So does a former post of the same name, though it is gone: the comment goes with it.
 */
async function settleOwner(
  client: Client,
  post: Stored<Post> | undefined,
  { metadata, spec }: Stored<Comment>,
): Promise<void> {
  const { name, resourceVersion, ownerReferences = [] } = metadata;
  const kept: Owner[] = ownerReferences.filter((owner) => !isPost(owner) || owner.name === spec.post);
  const wanted = post === undefined || kept.some(isPost) ? kept : [...kept, ownerOf(post)];
  if (wanted === kept && kept.length === ownerReferences.length) return;
  // A list is replaced whole: with its revision, so that no one else's entry is lost.
  await client.patch(
    Comment,
    { namespace: '', name },
    { type: 'merge', patch: { metadata: { resourceVersion, ownerReferences: wanted.map((owner) => ({ ...owner })) } } },
  );
}

function isPost({ apiVersion, kind }: Owner): boolean {
  return kind === Post.kind && apiVersion.startsWith(`${Post.group}/`);
}
