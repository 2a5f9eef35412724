import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { buildForBrowsers } from '../../../../hack/builds/bundle-client.mjs';
import { startBrowser } from '../../../../pkg/access/pages/pagetest/browser.ts';

const html = '<!doctype html><title>Lists</title><link rel="icon" href="data:,">';

/** Chromium, and what its pages load: the client, and a worker, as they are built for browsers. */
export class BrowserSite {
  readonly browser: Browser;
  readonly token: string;
  /** How long a silence lasted until a page told it. */
  longestStaleMs = 0;
  /** By path: type and text. */
  readonly #files: ReadonlyMap<string, readonly [type: string, text: string]>;

  private constructor(browser: Browser, token: string, scripts: ReadonlyMap<string, string>) {
    this.browser = browser;
    this.token = token;
    this.#files = new Map<string, readonly [type: string, text: string]>([
      ['/page', ['text/html', `${html}<script type="module" src="/page.js"></script>`]],
      ['/other', ['text/html', html]],
      ['/api/v1/authentication/sessions/current/', ['application/json', JSON.stringify(session)]],
      ...[...scripts].map(([path, text]) => [path, ['text/javascript', text]] as const),
    ]);
  }

  static async start(token: string): Promise<BrowserSite> {
    const files = await buildForBrowsers({
      entryPoints: ['page', 'worker'].map((name) => fileURLToPath(new URL(`${name}.ts`, import.meta.url))),
      outdir: '/',
    });
    const scripts = new Map(files.map(({ path, text }) => [`/${basename(path)}`, text]));
    return new BrowserSite(await startBrowser({ hasPageCache: true }), token, scripts);
  }

  /** Answers what a page loads. The requests of its session, which has no cookie here, get the token of the session. */
  readonly serve = (incoming: IncomingMessage, answer: ServerResponse): boolean => {
    const file = this.#files.get(incoming.url!.replace(/\?.*/, ''));
    if (file === undefined) {
      if (incoming.headers['x-svc-session'] === session.csrf_token)
        incoming.headers.authorization ??= `Bearer ${this.token}`;
      return false;
    }
    const [type, text] = file;
    answer.setHeader('Content-Type', type);
    answer.end(text);
    return true;
  };

  async stop(): Promise<void> {
    await this.browser.close();
  }
}

const session = { csrf_token: 'page', user: { username: 'page' } };
