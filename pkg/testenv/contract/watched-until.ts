import type { TestEnv } from '../start-test-env.ts';
import { withoutManagedFields, type WireBody } from './client.ts';

export interface WatchedEvent {
  type: string;
  object: WireBody;
}

/** The events of a collection after a resource version, up to and without that of the object `last`. */
export async function watchedUntil(
  env: TestEnv,
  path: string,
  after: { resourceVersion: string; last: string; fieldSelector?: string },
): Promise<WatchedEvent[]> {
  const query = new URLSearchParams({
    watch: 'true',
    resourceVersion: after.resourceVersion,
    timeoutSeconds: '60',
    ...(after.fieldSelector === undefined ? {} : { fieldSelector: after.fieldSelector }),
  });
  const response = await env.request(`${path}?${query.toString()}`, { headers: withoutManagedFields });
  const events: WatchedEvent[] = [];
  let rest = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines.filter((each) => each.trim() !== '')) {
      const event = JSON.parse(line) as WatchedEvent;
      if (event.type === 'BOOKMARK') continue;
      if (event.object.metadata.name === after.last) return events;
      events.push(event);
    }
  }
  throw new Error(`The watch ended before ${after.last}, after ${JSON.stringify(events)}`);
}
