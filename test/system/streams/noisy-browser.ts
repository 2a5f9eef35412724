import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { SeededRandom } from '../../../pkg/testenv/faults/seeded-random.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { NoisyProxy, noFaults } from '../../../pkg/webclient/webclienttest/noisy-proxy.ts';
import { fetchAs, sessionFetch } from '../../../pkg/webclient/webclienttest/worker-session.ts';
import { ClientRealm } from './client-realm.ts';
import { followAll } from './follow-all.ts';
import { faultsOf, FollowedLists, isSame, isUpTo, latenessOf, type PageReport } from './followed-lists.ts';
import type { BrowserResult, FollowingBrowser, FollowingBrowserOptions } from './live-run.ts';

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

interface FollowingPage {
  realm: ClientRealm;
  lists: FollowedLists;
}

/** A browser in this process: one page with a stream of its own, or two that share a worker, by seed. */
export class NoisyBrowser implements FollowingBrowser {
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #proxy: NoisyProxy;
  readonly #worker: ClientRealm | undefined;
  readonly #pages: readonly FollowingPage[];
  readonly #seen = new Set<string>();
  #nap: Nap | undefined;
  readonly #followed: string[] = [];
  /** Why its stream ended, each time. */
  readonly #followEnds: string[] = [];
  readonly #end = new AbortController();

  private constructor(
    seed: number,
    proxy: NoisyProxy,
    worker: ClientRealm | undefined,
    pages: readonly FollowingPage[],
  ) {
    this.#seed = seed;
    this.#random = new SeededRandom(seed);
    this.#proxy = proxy;
    this.#worker = worker;
    this.#pages = pages;
  }

  static async start({
    replicas,
    model,
    seed,
    rates,
    selections,
    since,
  }: FollowingBrowserOptions): Promise<NoisyBrowser> {
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
      pages.push({ realm, lists: new FollowedLists(client, server.resource(model), selections) });
    }
    const browser = new NoisyBrowser(seed, proxy, worker, pages);
    void followAll({
      client: first!.client,
      posts: first!.client.connect({ url: proxy.url, credential: token }).resource(model),
      labels: selections[0]!.labels as Record<string, string>,
      since,
      signal: browser.#end.signal,
      pause: async (end) => {
        browser.#followEnds.push(`${end} at ${first!.clockMs}`);
        await delay(20);
        await first!.awake();
      },
      onTexts: (texts) => browser.#followed.push(...texts),
    });
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
    if (this.#random.chance(0.1)) this.#random.pick(this.#pages).lists.visitOther(this.#random.below(1e6));
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
    const staleTimes = this.#pages.map(({ lists }) => lists.noteStale(silence === 'dead worker'));
    if (silence === 'dead worker') {
      this.#worker!.sleep();
    } else {
      this.#proxy.isSilent = true;
      if (silence === 'cut') this.#proxy.cutAll();
    }
    // What pages have just begun reaches their worker.
    await paint(realms);
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
    // What is due happens.
    await paint(realms);
    await pollUntil(
      () => {
        for (const realm of realms) realm.pass(0);
        return staleTimes.every((timeOf) => timeOf() !== undefined);
      },
      30_000,
      `seed ${this.#seed}, ${silence}: every list is stale, which are ${JSON.stringify(this.#pages.map(({ lists }) => lists.states))}`,
    );
    for (const realm of realms) realm.setManual(false);
  }

  heal(): void {
    this.#proxy.isSilent = false;
    this.#worker?.wake(0, this.#random, () => undefined);
    // Else the limits of the client end what is still frozen.
    if (this.#random.chance(0.5)) this.#proxy.cutAll();
  }

  /** A long time of its clock, which a slow machine does not shorten. */
  async result(stored: Record<string, string>[], watched: readonly string[]): Promise<BrowserResult> {
    const reports = (): PageReport[] => this.#pages.map(({ lists }) => lists.report);
    const isDone = (): boolean =>
      isSame(this.#followed, watched) &&
      reports().every((report) => isSame(report.held, stored) && isUpTo(report, watched));
    const { realm } = this.#pages[0]!;
    for (const until = realm.clockMs + maxHealingMs; realm.clockMs < until && !isDone();) await delay(200);
    return {
      seed: this.#seed,
      held: reports().flatMap(({ held }) => held),
      stored: this.#pages.flatMap(() => stored),
      followed: this.#followed,
      watched: [...watched],
      faults: [
        ...reports().flatMap((report) => [...faultsOf(report, watched), ...latenessOf(report, watched)]),
        ...(isSame(this.#followed, watched)
          ? []
          : [`at ${realm.clockMs}, ends: ${this.#followEnds.slice(-5).join('; ')}`]),
      ],
      seen: [...this.#seen],
    };
  }

  async stop(): Promise<void> {
    this.#end.abort();
    for (const { realm, lists } of this.#pages) {
      lists.stop();
      realm.stop();
    }
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
}

/** Some frames. */
async function paint(realms: readonly ClientRealm[]): Promise<void> {
  for (let frame = 0; frame < 5; frame += 1) {
    for (const realm of realms) realm.pass(20);
    await delay(2);
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
