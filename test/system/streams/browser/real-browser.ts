import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { pollUntil } from '../../../../pkg/testenv/faults/poll-until.ts';
import { SeededRandom } from '../../../../pkg/testenv/faults/seeded-random.ts';
import { NoisyProxy, noFaults } from '../../../../pkg/webclient/webclienttest/noisy-proxy.ts';
import { faultsOf, isSame, isUpTo, latenessOf, type PageReport } from '../followed-lists.ts';
import type { BrowserResult, FollowingBrowser, FollowingBrowserOptions } from '../live-run.ts';
import type { BrowserSite } from './browser-site.ts';
import type { PageTask, TestPage } from './page.ts';

/** How many writes a sleep lasts: two are a second. A worker forgets a page after 60 s. */
const naps = [2, 10, 30, 140];
/** A page must be stale so long after the last sign of life, and a busy machine may be late. Milliseconds. */
const maxStaleMs = 25_000 + 2000;
/** For whatever a page must come to at last. Milliseconds. */
const longMs = 180_000;

interface Nap {
  tab: Tab | undefined;
  writesLeft: number;
  end: () => Promise<void>;
}

/** Behind a bad network: one tab with a stream of its own, or two that share a worker, by seed; and one that observes. */
export class RealBrowser implements FollowingBrowser {
  readonly #site: BrowserSite;
  readonly #seed: number;
  readonly #random: SeededRandom;
  readonly #proxy: NoisyProxy;
  readonly #context: BrowserContext;
  readonly #tabs: readonly Tab[];
  readonly #observer: Tab;
  readonly #seen = new Set<string>();
  readonly #faults: string[] = [];
  #nap: Nap | undefined;
  /** Of a worker that hangs. */
  #hold: CDPSession | undefined;
  /** What happens to it, one after another. */
  #acts: Promise<void> = Promise.resolve();

  private constructor(
    site: BrowserSite,
    { seed }: FollowingBrowserOptions,
    proxy: NoisyProxy,
    { context, tabs, observer }: { context: BrowserContext; tabs: readonly Tab[]; observer: Tab },
  ) {
    this.#site = site;
    this.#seed = seed;
    this.#random = new SeededRandom(seed);
    this.#proxy = proxy;
    this.#context = context;
    this.#tabs = tabs;
    this.#observer = observer;
  }

  static async start(site: BrowserSite, options: FollowingBrowserOptions): Promise<RealBrowser> {
    const { replicas, seed, rates, selections, since } = options;
    const proxy = await NoisyProxy.start(replicas.urls, seed, noFaults, site.serve);
    const context = await site.browser.newContext();
    const hasWorker = seed % 2 === 1;
    const { token } = site;
    const open = (task: Partial<PageTask>): Promise<Tab> =>
      Tab.open(
        context,
        `${proxy.url}/page?${encodeURIComponent(JSON.stringify({ selections: [...selections], ...task }))}`,
      );
    const tabs = await Promise.all(hasWorker ? [open({}), open({})] : [open({ token })]);
    const labels = selections[0]!.labels as Record<string, string>;
    const observer = await open({ token, observed: { labels, since } });
    proxy.rates = rates;
    return new RealBrowser(site, options, proxy, { context, tabs, observer });
  }

  get #hasWorker(): boolean {
    return this.#tabs.length > 1;
  }

  cut(url: string): void {
    this.#seen.add('server killed');
    this.#proxy.cut(url);
  }

  /** Now and then every connection breaks, a tab sleeps or wakes, lists come and go. */
  disturb(): void {
    if (this.#nap !== undefined && (this.#nap.writesLeft -= 1) <= 0) this.#endNap();
    if (this.#random.chance(0.02)) this.#proxy.cutAll();
    if (this.#random.chance(0.1)) this.#beginNap();
    if (this.#random.chance(0.1)) {
      const tab = this.#random.pick(this.#tabs);
      const run = this.#random.below(1e6);
      if (tab !== this.#nap?.tab) this.#act(() => tab.call('visitOther', run));
    }
  }

  async expectStale(): Promise<void> {
    this.#endNap();
    await this.#acts;
    this.#proxy.rates = noFaults;
    const silence = this.#random.pick(
      this.#hasWorker ? ['frozen', 'cut', 'dead worker', 'hanging worker'] : ['frozen', 'cut'],
    );
    this.#seen.add(`silence: ${silence}`);
    const isOfWorker = silence.endsWith('worker');
    await Promise.all(this.#tabs.map((tab) => tab.call('noteStale', isOfWorker)));
    if (isOfWorker) {
      await this.#stopWorker(silence === 'dead worker');
    } else {
      this.#proxy.isSilent = true;
      if (silence === 'cut') this.#proxy.cutAll();
    }
    const from = Date.now();
    const times = this.#tabs.map(async (tab) => {
      let time: number | undefined;
      await pollUntil(
        async () => (time = await tab.call('staleAt')) !== undefined,
        longMs,
        `seed ${this.#seed}, ${silence}: every list to be stale`,
      );
      return time! - from;
    });
    const ms = Math.max(...(await Promise.all(times)));
    this.#site.longestStaleMs = Math.max(this.#site.longestStaleMs, ms);
    if (ms > maxStaleMs) this.#faults.push(`${silence}: stale after ${ms} ms`);
  }

  heal(): void {
    this.#proxy.isSilent = false;
    this.#act(() => this.#resumeWorker());
    // Else the limits of the client end what is still frozen.
    if (this.#random.chance(0.5)) this.#proxy.cutAll();
  }

  async result(stored: Record<string, string>[], watched: readonly string[]): Promise<BrowserResult> {
    const read = (): Promise<[string[], ...PageReport[]]> =>
      Promise.all([this.#observer.call('followed'), ...this.#tabs.map((tab) => tab.call('report'))]);
    const isDone = async (): Promise<boolean> => {
      const [followed, ...reports] = await read();
      return (
        isSame(followed, watched) && reports.every((report) => isSame(report.held, stored) && isUpTo(report, watched))
      );
    };
    // What is missing then says the result.
    await pollUntil(isDone, longMs).catch(() => undefined);
    const [followed, ...reports] = await read();
    return {
      seed: this.#seed,
      held: reports.flatMap(({ held }) => held),
      stored: this.#tabs.flatMap(() => stored),
      followed,
      watched: [...watched],
      faults: [
        ...this.#faults,
        ...reports.flatMap((report) => [...faultsOf(report, watched), ...latenessOf(report, watched)]),
        ...this.#tabs.flatMap((tab) => tab.faults(watched)),
      ],
      seen: [...this.#seen],
    };
  }

  async stop(): Promise<void> {
    await this.#context.close();
    await this.#proxy.stop();
  }

  #act(act: () => Promise<void>): void {
    this.#acts = this.#acts.then(act).catch((error: unknown) => void this.#faults.push(String(error)));
  }

  #beginNap(): void {
    if (this.#nap !== undefined) return;
    const kind = this.#random.pick(['tab asleep', 'page left', 'tab closed', 'offline']);
    const writesLeft = this.#random.pick(naps);
    const tab = this.#random.pick(this.#tabs);
    this.#seen.add(kind);
    switch (kind) {
      case 'tab asleep':
        this.#act(() => tab.sleep());
        this.#nap = { tab, writesLeft, end: () => tab.wake() };
        break;
      case 'page left':
        this.#act(() => tab.leave());
        this.#nap = {
          tab,
          writesLeft,
          end: async () => void this.#seen.add((await tab.goBack()) ? 'page from the cache' : 'page loaded anew'),
        };
        break;
      case 'tab closed':
        this.#act(() => tab.close());
        this.#nap = { tab, writesLeft, end: () => tab.open() };
        break;
      default:
        this.#act(() => this.#context.setOffline(true));
        this.#nap = { tab: undefined, writesLeft, end: () => this.#context.setOffline(false) };
    }
  }

  #endNap(): void {
    const nap = this.#nap;
    this.#nap = undefined;
    if (nap !== undefined) this.#act(nap.end);
  }

  /** It ends, or no code of it runs any more. Its pages get no sign of that. */
  async #stopWorker(isEnd: boolean): Promise<void> {
    const session = await this.#site.browser.newBrowserCDPSession();
    const { targetInfos } = await session.send('Target.getTargets', { filter: [{ type: 'shared_worker' }] });
    for (const { targetId, url } of targetInfos) {
      if (!url.startsWith(this.#proxy.url)) continue;
      if (isEnd) {
        await session.send('Target.closeTarget', { targetId });
        continue;
      }
      const { sessionId } = await session.send('Target.attachToTarget', { targetId, flatten: false });
      for (const [id, method] of ['Debugger.enable', 'Debugger.pause'].entries())
        await session.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method }) });
    }
    this.#hold = session;
  }

  /** A debugger that is gone holds nothing. */
  async #resumeWorker(): Promise<void> {
    await this.#hold?.detach();
  }
}

/** One tab, and what its earlier documents reported. */
class Tab {
  readonly #context: BrowserContext;
  readonly #url: string;
  #page!: Page;
  #session!: CDPSession;
  readonly #left: PageReport[] = [];
  readonly #errors: string[] = [];

  private constructor(context: BrowserContext, url: string) {
    this.#context = context;
    this.#url = url;
  }

  static async open(context: BrowserContext, url: string): Promise<Tab> {
    const tab = new Tab(context, url);
    await tab.open();
    return tab;
  }

  async open(): Promise<void> {
    this.#page = await this.#context.newPage();
    this.#page.setDefaultTimeout(longMs);
    this.#page.on('pageerror', (error) => this.#errors.push(error.message));
    this.#session = await this.#context.newCDPSession(this.#page);
    await this.#page.goto(this.#url);
    await this.#isReady();
  }

  async close(): Promise<void> {
    this.#left.push(await this.call('report'));
    await this.#page.close();
  }

  call<Name extends keyof TestPage>(
    name: Name,
    ...given: Parameters<TestPage[Name]>
  ): Promise<ReturnType<TestPage[Name]>> {
    return this.#page.evaluate(
      ([method, values]) => {
        const { page } = globalThis as unknown as { page: Record<string, (...args: unknown[]) => unknown> };
        return page[method]!(...values);
      },
      [name, given] as const,
    ) as Promise<ReturnType<TestPage[Name]>>;
  }

  /** No code of it runs: no timer, no answer, no message. */
  async sleep(): Promise<void> {
    await this.#session.send('Debugger.enable');
    await this.#session.send('Debugger.pause');
  }

  async wake(): Promise<void> {
    await this.#session.send('Debugger.disable');
  }

  async leave(): Promise<void> {
    this.#left.push(await this.call('report'));
    await this.#page.goto(new URL('/other', this.#url).href);
  }

  /** Did the browser keep the page meanwhile? */
  async goBack(): Promise<boolean> {
    await this.#page.goBack({ waitUntil: 'commit' });
    await this.#isReady();
    return this.call('wasRestored');
  }

  /** What must not be, of the documents that are gone. */
  faults(watched: readonly string[]): string[] {
    return [...this.#errors, ...this.#left.flatMap((report) => faultsOf(report, watched))];
  }

  #isReady(): Promise<void> {
    return pollUntil(() => this.#page.evaluate("'page' in globalThis"), longMs, 'the page to run');
  }
}
