import { controllerFor, withCondition, writeChanges } from '@svc/sdk';
import { Post, type PostPhase } from '../models.ts';

/** Brings each post's phase in line with what its author wants and what time it is. */
export const publication = controllerFor(Post)
  .named('publication')
  .reconcile(async ({ name }, { client, lister, events }) => {
    const post = lister(Post).get({ namespace: '', name });
    if (post === undefined) return undefined;
    const { phase, publishedAt, waitMs } = publicationOf(post, Date.now());
    const { publishedAt: _before, ...rest } = post.status ?? {};
    const status = {
      ...rest,
      phase,
      ...(publishedAt === undefined ? {} : { publishedAt }),
      observedGeneration: post.metadata.generation ?? 0,
    };
    await writeChanges(
      client,
      Post,
      post,
      withCondition(
        { ...post, status },
        { type: 'Published', status: phase === 'Published' ? 'True' : 'False', reason: phase, message: '' },
      ),
    );
    if (phase === 'Published' && post.status?.phase !== 'Published')
      events.record(post, { type: 'Normal', reason: 'Published', message: `"${post.spec.title}" is with its readers` });
    return waitMs === undefined ? undefined : { requeueAfterMs: waitMs };
  });

interface Publication {
  phase: PostPhase;
  publishedAt?: string;
  /** Until its time has come. */
  waitMs?: number;
}

/**
 * A function of the post and the time alone: however often it is asked, and whatever was lost before, it answers the
 * same.
 */
export function publicationOf({ spec, status }: Post, now: number): Publication {
  if (spec.publish !== true) return { phase: 'Draft' };
  if (spec.publishAt === undefined)
    return {
      phase: 'Published',
      publishedAt: (status?.phase === 'Published' ? status.publishedAt : undefined) ?? new Date(now).toISOString(),
    };
  const waitMs = Date.parse(spec.publishAt) - now;
  return waitMs > 0 ? { phase: 'Scheduled', waitMs } : { phase: 'Published', publishedAt: spec.publishAt };
}
