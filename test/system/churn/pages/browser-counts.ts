import type { Browser, CDPSession, Page } from 'playwright-core';

/** What lives in a browser, of all its pages together, after a collection. */
export interface BrowserCounts {
  heapBytes: number;
  /** Of the worker that all tabs share. */
  workerHeapBytes: number;
  nodes: number;
  listeners: number;
  frames: number;
  ports: number;
  /** Pages, frames of their own process, and workers. */
  targets: number;
  processes: number;
}

/** Counts in the renderers of these pages, by the protocol of Chromium's own tools. */
export class BrowserMeter {
  readonly #browser: CDPSession;
  readonly #pages: readonly { page: Page; session: CDPSession }[];
  readonly #worker: NestedSession;

  static async attach(browser: Browser, pages: readonly Page[]): Promise<BrowserMeter> {
    const session = await browser.newBrowserCDPSession();
    const worker = await NestedSession.ofSharedWorker(session);
    const sessions = await Promise.all(
      pages.map(async (page) => ({ page, session: await page.context().newCDPSession(page) })),
    );
    return new BrowserMeter(session, sessions, worker);
  }

  private constructor(
    browser: CDPSession,
    pages: readonly { page: Page; session: CDPSession }[],
    worker: NestedSession,
  ) {
    this.#browser = browser;
    this.#pages = pages;
    this.#worker = worker;
  }

  async counts(): Promise<BrowserCounts> {
    const each = await Promise.all(this.#pages.map(({ page, session }) => countsOf(page, session)));
    const sum = (name: keyof (typeof each)[number]): number => each.reduce((total, counts) => total + counts[name], 0);
    const { targetInfos } = await this.#browser.send('Target.getTargets');
    const { processInfo } = await this.#browser.send('SystemInfo.getProcessInfo');
    return {
      heapBytes: sum('heapBytes'),
      workerHeapBytes: await this.#worker.heapBytes(),
      nodes: sum('nodes'),
      listeners: sum('listeners'),
      frames: sum('frames'),
      ports: sum('ports'),
      targets: targetInfos.length,
      processes: processInfo.length,
    };
  }
}

async function countsOf(page: Page, session: CDPSession) {
  // Twice: what a finalizer frees is collected by the next one.
  for (let i = 0; i < 2; i += 1) await session.send('HeapProfiler.collectGarbage');
  const ports = await portsOf(session);
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
  return { heapBytes: usedSize, nodes, listeners: jsEventListeners, frames: page.frames().length, ports };
}

async function portsOf(session: CDPSession): Promise<number> {
  const objectGroup = 'ports';
  const { result } = await session.send('Runtime.evaluate', { expression: 'MessagePort.prototype', objectGroup });
  const { objects } = await session.send('Runtime.queryObjects', { prototypeObjectId: result.objectId!, objectGroup });
  const { result: count } = await session.send('Runtime.callFunctionOn', {
    objectId: objects.objectId!,
    functionDeclaration: 'function () { return this.length; }',
    returnByValue: true,
  });
  await session.send('Runtime.releaseObjectGroup', { objectGroup });
  return Number(count.value);
}

/** A target that Playwright has no session for. */
class NestedSession {
  readonly #browser: CDPSession;
  readonly #sessionId: string;
  readonly #answers = new Map<number, (result: unknown) => void>();
  #lastId = 0;

  static async ofSharedWorker(browser: CDPSession): Promise<NestedSession> {
    const { targetInfos } = await browser.send('Target.getTargets');
    const worker = targetInfos.find(({ type }) => type === 'shared_worker');
    if (worker === undefined) throw new Error('the pages share no worker');
    const { sessionId } = await browser.send('Target.attachToTarget', { targetId: worker.targetId, flatten: false });
    return new NestedSession(browser, sessionId);
  }

  private constructor(browser: CDPSession, sessionId: string) {
    this.#browser = browser;
    this.#sessionId = sessionId;
    browser.on('Target.receivedMessageFromTarget', ({ sessionId: from, message }) => {
      if (from !== sessionId) return;
      const { id, result } = JSON.parse(message) as { id?: number; result?: unknown };
      if (id === undefined) return;
      this.#answers.get(id)?.(result);
      this.#answers.delete(id);
    });
  }

  async heapBytes(): Promise<number> {
    await this.#send('HeapProfiler.collectGarbage');
    const { usedSize } = (await this.#send('Runtime.getHeapUsage')) as { usedSize: number };
    return usedSize;
  }

  async #send(method: string): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise((resolve) => this.#answers.set(id, resolve));
    const message = JSON.stringify({ id, method });
    await this.#browser.send('Target.sendMessageToTarget', { message, sessionId: this.#sessionId });
    return answer;
  }
}
