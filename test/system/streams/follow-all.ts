import type { Post } from '../../../pkg/testenv/index.ts';
import type { Resource } from '../../../pkg/webclient/index.ts';
import type { ownSource } from '../../../pkg/webclient/live/selection-source.ts';
import { textsOf } from './followed-lists.ts';

export interface FollowAllOptions {
  client: { ownSource: typeof ownSource };
  posts: Resource<Post>;
  labels: Record<string, string>;
  since: string;
  signal: AbortSignal;
  /** After each end, and why it ended. */
  pause: (end: string) => Promise<void>;
  onTexts: (texts: readonly string[]) => void;
}

/** Every event of one subscription, which goes on after each error, whatever it says: the history is there. */
export async function followAll({
  client,
  posts,
  labels,
  since,
  signal,
  pause,
  onTexts,
}: FollowAllOptions): Promise<void> {
  const source = client.ownSource(posts, { labels }, false);
  let position = since;
  while (!signal.aborted) {
    const end = await source
      .follow(
        position,
        {
          live: () => undefined,
          behind: () => undefined,
          take: (events) => {
            for (const event of events) {
              onTexts(textsOf(event));
              position = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
            }
          },
        },
        signal,
      )
      .then(() => 'the stream ended', String);
    await pause(end);
  }
}
