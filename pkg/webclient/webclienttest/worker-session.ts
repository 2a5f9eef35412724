import { SharedFeeds, serveTab } from '../worker/serve-tabs.ts';
import type { FeedPort } from '../worker/feed-port.ts';
import type { FeedWorker } from '../worker/page-tab.ts';

/** A session of a browser in Node.js, which has no cookies: its token is sent instead, for its CSRF token. */
export function sessionFetch(tokens: ReadonlyMap<string, string>, csrfToken: string, send = fetch): typeof fetch {
  return (url, init) => {
    if ((url as string).endsWith('/sessions/current/'))
      return Promise.resolve(Response.json({ csrf_token: csrfToken, user: { username: csrfToken } }));
    return fetchAs(tokens, send)(url, init);
  };
}

/** Sends the token of the session that the request names by its CSRF token. */
export function fetchAs(tokens: ReadonlyMap<string, string>, send = fetch): typeof fetch {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    const session = headers.get('x-svc-session') ?? headers.get('x-csrftoken') ?? '';
    headers.set('authorization', `Bearer ${tokens.get(session)}`);
    return send(url, { ...init, headers });
  };
}

/** A worker that serves pages in this process, by real ports. */
export class TestWorker {
  readonly feeds: SharedFeeds;
  readonly #ports: FeedPort[] = [];

  constructor(options: ConstructorParameters<typeof SharedFeeds>[0]) {
    this.feeds = new SharedFeeds(options);
  }

  readonly open = (): FeedWorker => {
    const [page, worker] = this.#channel();
    serveTab(worker, this.feeds);
    return { port: page, addEventListener: () => undefined };
  };

  /** One that speaks another protocol. */
  openOther(protocol: string): FeedWorker {
    const [page, worker] = this.#channel();
    worker.postMessage({ protocol }, []);
    return { port: page, addEventListener: () => undefined };
  }

  #channel(): [FeedPort, FeedPort] {
    const { port1, port2 } = new MessageChannel();
    const ports: [FeedPort, FeedPort] = [port1 as unknown as FeedPort, port2 as unknown as FeedPort];
    this.#ports.push(ports[0]);
    return ports;
  }

  /** All pages go away. */
  stop(): void {
    for (const port of this.#ports) port.postMessage({ type: 'leave' }, []);
  }
}
