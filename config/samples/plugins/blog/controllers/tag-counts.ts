import { controllerFor, enqueueMapped, generationChanged, or, writeChanges, type Predicate } from '@svc/sdk';
import { Post, Tag } from '../models.ts';

/** Of updates of a post, those that took it to its readers, or from them. */
const phaseChanged: Predicate<Post> = (event) =>
  event.type !== 'update' || event.old.status?.phase !== event.object.status?.phase;

/**
 * Counts the published posts of each tag, from the cache: nothing is asked of the API, and nothing written unless the
 * number is another.
 */
export const tagCounts = controllerFor(Tag)
  .named('tag-counts')
  .watches(
    Post,
    enqueueMapped((post) => (post.spec.tags ?? []).map((name) => ({ namespace: '', name }))),
    { predicates: [or(generationChanged, phaseChanged)] },
  )
  .withIndex(Post, 'tag', ({ spec }) => spec.tags ?? [])
  .reconcile(async ({ name }, { client, lister }) => {
    const tag = lister(Tag).get({ namespace: '', name });
    // A post may carry a tag that nobody has made.
    if (tag === undefined) return;
    const posts = lister(Post)
      .byIndex('tag', name)
      .filter(({ status }) => status?.phase === 'Published').length;
    await writeChanges(client, Tag, tag, { ...tag, status: { ...tag.status, posts } });
  });
