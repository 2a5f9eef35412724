import type { ClientEvent, Stored } from '../../../pkg/apimachinery/index.ts';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { SeededRandom } from '../../../pkg/testenv/faults/seeded-random.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import type { Post } from '../../../pkg/testenv/index.ts';
import type { ChangeSink, Resource, ResourceType, WhereSelection } from '../../../pkg/webclient/index.ts';
import type { IndexTypes } from '../../../pkg/webclient/resource/query.ts';
import type { LiveList } from '../../../pkg/webclient/live/live-list.ts';
import { NoisyProxy, noFaults, type NetworkFaultRates } from '../../../pkg/webclient/webclienttest/noisy-proxy.ts';
import { fetchAs, sessionFetch } from '../../../pkg/webclient/webclienttest/worker-session.ts';
import { ClientRealm } from './client-realm.ts';
import type { Replicas } from './replicas.ts';

export type Selection = WhereSelection<IndexTypes>;

export interface BrowserResult {
  seed: number;
  /** What the live lists of its pages had in the end, and what the server has: of each selection, revisions by name. */
  held: Record<string, string>[];
  stored: Record<string, string>[];
  /** The events of one subscription of the page's own stream, and those of a watch without faults. */
  followed: string[];
  watched: string[];
  /** What must not be: an object that went back, an event twice or out of order, a silence that was not told. */
  faults: string[];
  /** Which of the faults of this run it had. */
  seen: readonly string[];
}

export interface NoisyBrowserOptions {
  replicas: Replicas;
  model: ResourceType<Post>;
  seed: number;
  rates: NetworkFaultRates;
  selections: readonly Selection[];
  since: string;
}

/** How long a page sleeps; a worker forgets it after 60 s. Milliseconds. */
const naps = [5000, 20_000, 40_000, 90_000];
/** A page must be stale so long after the last sign of life. Milliseconds. */
const maxSilenceMs = 25_000;
/** A page must have everything so long after the end of all faults. Milliseconds. */
const maxHealingMs = 300_000;

interface Nap {
  realms: readonly ClientRealm[];
  ms: number;
  /** Writes until its end. */
  writesLeft: number;
  /** What the browser tells the page at the end. */
  event: () => void;
}

/** Behind a bad network: one page with a stream of its own, or two that share a worker, by seed. */
export class NoisyBrowser {
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #proxy: NoisyProxy;
  readonly #worker: ClientRealm | undefined;
  readonly #pages: FollowingPage[];
  readonly #seen = new Set<string>();
  #nap: Nap | undefined;
  #followed: string[] = [];
  readonly #end = new AbortController();

  private constructor(seed: number, proxy: NoisyProxy, worker: ClientRealm | undefined, pages: FollowingPage[]) {
    this.#seed = seed;
    this.#random = new SeededRandom(seed);
    this.#proxy = proxy;
    this.#worker = worker;
    this.#pages = pages;
  }

  static async start({ replicas, model, seed, rates, selections, since }: NoisyBrowserOptions): Promise<NoisyBrowser> {
    const proxy = await NoisyProxy.start(replicas.urls, seed, noFaults);
    const { token } = replicas.env;
    const hasWorker = seed % 2 === 1;
    const hasFrames = seed % 4 < 2;
    const realms = await Promise.all(
      Array.from({ length: hasWorker ? 3 : 1 }, (_, i) => ClientRealm.start({ hasFrames: hasFrames && i < 2 })),
    );
    const [first, , worker] = realms;
    const tokens = new Map([['page', token]]);
    const open = worker === undefined ? undefined : openerOf(worker, fetchAs(tokens, worker.fetch));
    const pages: FollowingPage[] = [];
    for (const realm of hasWorker ? realms.slice(0, 2) : realms) {
      const { client } = realm;
      const server =
        open === undefined
          ? client.connect({ url: proxy.url, credential: token })
          : client.connect({
              url: proxy.url,
              fetch: sessionFetch(tokens, 'page', realm.fetch),
              feeds: client.sharedWorkerFeeds(() => open(realm)),
            });
      if (open !== undefined) await server.currentSession();
      pages.push(new FollowingPage(realm, server.resource(model), selections));
    }
    const browser = new NoisyBrowser(seed, proxy, worker, pages);
    const own = first!.client.connect({ url: proxy.url, credential: token }).resource(model);
    browser.#follow(first!, own, selections[0]!.labels as Record<string, string>, since);
    proxy.rates = rates;
    return browser;
  }

  cut(url: string): void {
    this.#seen.add('server killed');
    this.#proxy.cut(url);
  }

  /** After each write: now and then every connection breaks, a page sleeps or wakes, lists come and go. */
  disturb(): void {
    if (this.#nap !== undefined && (this.#nap.writesLeft -= 1) <= 0) this.#endNap();
    if (this.#random.chance(0.02)) this.#proxy.cutAll();
    if (this.#random.chance(0.05)) this.#beginNap();
    if (this.#random.chance(0.1)) this.#random.pick(this.#pages).visitOther(this.#random.below(1e6));
  }

  /** Nothing comes any more, from the servers or from the worker: every page says so in time. */
  async expectStale(): Promise<void> {
    this.#endNap();
    await nextTurn();
    const realms = [...this.#pages.map(({ realm }) => realm), ...(this.#worker === undefined ? [] : [this.#worker])];
    this.#proxy.rates = noFaults;
    const silence = this.#random.pick(
      this.#worker === undefined ? ['frozen', 'cut'] : ['frozen', 'cut', 'dead worker'],
    );
    this.#seen.add(`silence: ${silence}`);
    for (const realm of realms) realm.setManual(true);
    const isTold = this.#pages.map((page) => page.noteStale(silence === 'dead worker'));
    if (silence === 'dead worker') {
      this.#worker!.sleep();
    } else {
      this.#proxy.isSilent = true;
      if (silence === 'cut') this.#proxy.cutAll();
    }
    // What was on its way arrives, and is a sign of life.
    for (let silentMs = 0; silentMs < maxSilenceMs;) {
      for (const realm of realms) {
        realm.hasHeard = { network: false, messages: false };
        realm.pass(1000);
      }
      await delay(2);
      const isSign = realms.some(({ hasHeard }) => (silence === 'dead worker' ? hasHeard.messages : hasHeard.network));
      silentMs = isSign ? 0 : silentMs + 1000;
    }
    // What is due happens, and some frames are painted.
    for (let frame = 0; frame < 5; frame += 1) {
      for (const realm of realms) realm.pass(20);
      await delay(2);
    }
    await pollUntil(
      () => {
        for (const realm of realms) realm.pass(0);
        return isTold.every((told) => told());
      },
      30_000,
      `seed ${this.#seed}, ${silence}: every list is stale, which are ${JSON.stringify(this.#pages.map(({ states }) => states))}`,
    );
    for (const realm of realms) realm.setManual(false);
  }

  heal(): void {
    this.#proxy.isSilent = false;
    this.#worker?.wake(0, this.#random, () => undefined);
    // Else the limits of the client end what is still frozen.
    if (this.#random.chance(0.5)) this.#proxy.cutAll();
  }

  /** As soon as it has what is stored, or after a long time of its clock, which a slow machine does not shorten. */
  async result(stored: Record<string, string>[], watched: string[]): Promise<BrowserResult> {
    const isDone = (): boolean =>
      isSame(this.#followed, watched) &&
      this.#pages.every((page) => isSame(page.held(), stored) && page.isUpTo(watched));
    const { realm } = this.#pages[0]!;
    for (const until = realm.clockMs + maxHealingMs; realm.clockMs < until && !isDone();) await delay(50);
    return {
      seed: this.#seed,
      held: this.#pages.flatMap((page) => page.held()),
      stored: this.#pages.flatMap(() => stored),
      followed: this.#followed,
      watched: [...watched],
      faults: this.#pages.flatMap((page) => page.faults(watched)),
      seen: [...this.#seen],
    };
  }

  async stop(): Promise<void> {
    this.#end.abort();
    for (const page of this.#pages) page.stop();
    this.#worker?.stop();
    await this.#proxy.stop();
  }

  #beginNap(): void {
    if (this.#nap !== undefined) return;
    const kind = this.#random.pick(['hidden', 'cache', 'machine']);
    const ms = this.#random.pick(naps);
    const writesLeft = 1 + this.#random.below(3);
    this.#seen.add(`sleep: ${kind}`);
    const { realm } = this.#random.pick(this.#pages);
    if (kind === 'machine') {
      const realms = [...this.#pages.map((page) => page.realm), ...(this.#worker === undefined ? [] : [this.#worker])];
      const isNoticed = this.#random.chance(0.5);
      this.#nap = {
        realms,
        ms,
        writesLeft,
        event: () => isNoticed && realms.forEach((each) => each.dispatch('online')),
      };
      if (this.#random.chance(0.5)) this.#proxy.cutAll();
    } else if (kind === 'hidden') {
      realm.hide(true);
      this.#nap = { realms: [realm], ms, writesLeft, event: () => realm.hide(false) };
    } else {
      realm.dispatch('pagehide');
      this.#nap = { realms: [realm], ms, writesLeft, event: () => realm.dispatch('pageshow') };
    }
    for (const each of this.#nap.realms) each.sleep();
    // The others are awake meanwhile.
    if (kind !== 'machine') this.#worker?.passSlowly(ms);
  }

  #endNap(): void {
    const nap = this.#nap;
    this.#nap = undefined;
    nap?.realms.forEach((realm, i) => realm.wake(nap.ms, this.#random, i === 0 ? nap.event : () => undefined));
  }

  /** A subscription that goes on after each error, whatever it says: the history is there. */
  #follow(realm: ClientRealm, own: Resource<Post>, labels: Record<string, string>, since: string): void {
    const { signal } = this.#end;
    let position = since;
    const sink: ChangeSink<Post> = {
      live: () => undefined,
      behind: () => undefined,
      take: (batch) => {
        for (const event of batch) {
          this.#followed.push(...textsOf(event));
          position = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
        }
      },
    };
    const source = realm.client.ownSource(own, { labels }, false);
    void (async () => {
      while (!signal.aborted) {
        await source.follow(position, sink, signal).catch(() => undefined);
        await delay(20);
        await realm.awake();
      }
    })();
  }
}

/** A page that shows some lists, and notes what it is told of the changes of the first. */
class FollowingPage {
  readonly realm: ClientRealm;
  readonly #posts: Resource<Post>;
  readonly #lists: LiveList<Post>[];
  readonly #faults: string[] = [];
  /** What was told since each beginning. */
  readonly #told: string[][] = [];
  readonly #end = new AbortController();

  constructor(realm: ClientRealm, posts: Resource<Post>, selections: readonly Selection[]) {
    this.realm = realm;
    this.#posts = posts;
    this.#lists = selections.map((selection) => realm.client.live(posts, selection));
    for (const list of this.#lists) this.#noteReversals(list);
    realm.client.follow(posts, {
      ...selections[0],
      signal: this.#end.signal,
      onEvents: (events) => {
        if (events.length === 0) this.#told.push([]);
        else this.#told.at(-1)!.push(...[...events].flatMap(textsOf));
      },
    });
  }

  get states(): string[] {
    return this.#lists.map(({ state }) => state.name);
  }

  held(): Record<string, string>[] {
    return this.#lists.map((list) => revisionsOf(list.current));
  }

  /** Has the page been told of the last event, or begun after it? */
  isUpTo(watched: readonly string[]): boolean {
    const last = this.#told.at(-1);
    return last !== undefined && (last.length === 0 || last.at(-1) === watched.at(-1));
  }

  /** A list that comes and goes, of which the others miss nothing. */
  visitOther(run: number): void {
    this.realm.client.live(this.#posts, { labels: { run: String(run) } }).stop();
  }

  /** Has every list been stale from now on? `mayLoad`: one that was loading may load by another way. */
  noteStale(mayLoad: boolean): () => boolean {
    const isStale = this.#lists.map((list) => {
      let wasStale = false;
      const check = (): void => {
        wasStale ||= list.state.name === 'stale' || (mayLoad && list.state.name === 'loading');
      };
      list.subscribe(check);
      return () => {
        check();
        return wasStale;
      };
    });
    return () => isStale.every((wasStale) => wasStale());
  }

  faults(watched: readonly string[]): string[] {
    const wrong = this.#told.filter((events) => {
      const from = events.length === 0 ? 0 : watched.indexOf(events[0]!);
      return from < 0 || !isSame(events, watched.slice(from, from + events.length));
    });
    return [
      ...this.#faults,
      ...wrong.map((events) => `told ${events.join(', ')}`),
      ...(this.isUpTo(watched) ? [] : [`told until ${this.#told.at(-1)?.at(-1)}`]),
    ];
  }

  stop(): void {
    this.#end.abort();
    for (const list of this.#lists) list.stop();
    this.realm.stop();
  }

  #noteReversals(list: LiveList<Post>): void {
    const newest = new Map<string, number>();
    list.subscribe(() => {
      for (const { metadata } of list.current) {
        const revision = Number(metadata.resourceVersion);
        if (revision < (newest.get(metadata.uid) ?? 0)) this.#faults.push(`${metadata.name} went back to ${revision}`);
        newest.set(metadata.uid, revision);
      }
    });
  }
}

/** How a page gets a port of the worker. */
function openerOf(worker: ClientRealm, fetchOfWorker: typeof fetch) {
  const feeds = new worker.client.SharedFeeds({ fetch: fetchOfWorker });
  return (page: ClientRealm) => {
    const { port1, port2 } = new MessageChannel();
    // The worker of a closed page, or of one that is forgotten, keeps the process no longer than its pages.
    const own = worker.portOf(port2);
    void worker.awake().then(() => worker.client.serveTab(own, feeds));
    return { port: page.portOf(port1), addEventListener: () => undefined };
  };
}

export function textsOf(event: ClientEvent<Post>): string[] {
  return event.type === 'BOOKMARK'
    ? []
    : [`${event.type} ${event.object.metadata.name} ${event.object.metadata.resourceVersion}`];
}

export function revisionsOf(items: readonly Stored<Post>[]): Record<string, string> {
  return Object.fromEntries([...items].map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
