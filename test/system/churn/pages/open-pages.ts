import type { Browser, BrowserContext, Page } from 'playwright-core';
import { complaintsOf, startBrowser } from '../../../../pkg/access/pages/pagetest/browser.ts';
import { BrowserMeter, type BrowserCounts } from './browser-counts.ts';

const waitMs = 60_000;
const stopped = 'The plugin of this page has stopped.';
const typed = 'What nobody has saved';

/** Where the plugin has something, and what it shows once it runs. */
const places = [
  { path: '/console/p/board-code', field: 'Draft', isFrame: true },
  { path: '/console/p/board-content', field: 'title', isFrame: false },
  { path: '/console/', field: 'title', isFrame: false },
  { path: '/console/g/board.example.com/notes/-/first?page=board-tab', field: undefined, isFrame: true },
  { path: '/uc/p/board-own', field: undefined, isFrame: true },
] as const;

interface OpenPage {
  place: (typeof places)[number];
  page: Page;
  complaints: readonly string[];
}

/** A browser with a page for each place of the plugin, in tabs of their own; in those with a field somebody has typed. */
export class OpenPages {
  readonly #browser: Browser;
  readonly #pages: readonly OpenPage[];
  readonly #meter: BrowserMeter;

  static async open(url: string, password: string): Promise<OpenPages> {
    const browser = await startBrowser();
    try {
      const context = await browser.newContext({ reducedMotion: 'reduce', locale: 'en-US' });
      context.setDefaultTimeout(waitMs);
      await logIn(context, url, password);
      const pages = await Promise.all(places.map((place) => openPage(context, url, place)));
      const meter = await BrowserMeter.attach(
        browser,
        pages.map(({ page }) => page),
      );
      return new OpenPages(browser, pages, meter);
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  private constructor(browser: Browser, pages: readonly OpenPage[], meter: BrowserMeter) {
    this.#browser = browser;
    this.#pages = pages;
    this.#meter = meter;
  }

  /** Until each page says that its plugin has stopped. */
  async untilStopped(): Promise<void> {
    await Promise.all(this.#pages.map(({ page }) => page.getByText(stopped).waitFor()));
  }

  /** Until no page says so any more, and those with code of the plugin answer. */
  async untilStarted(): Promise<void> {
    await Promise.all(
      this.#pages.map(async ({ page, place }) => {
        await page.getByText(stopped).waitFor({ state: 'hidden' });
        if (place.isFrame) await contentOf(page, place).waitFor();
      }),
    );
  }

  /** The paths of the pages that have lost what was typed. */
  async lostDrafts(): Promise<string[]> {
    const lost = await Promise.all(
      this.#pages.map(async ({ page, place }) => {
        if (place.field === undefined) return [];
        return (await contentOf(page, place).inputValue()) === typed ? [] : [place.path];
      }),
    );
    return lost.flat();
  }

  /** What the browser complained about, by page. */
  get complaints(): string[] {
    return this.#pages.flatMap(({ place, complaints }) => complaints.map((complaint) => `${place.path}: ${complaint}`));
  }

  counts(): Promise<BrowserCounts> {
    return this.#meter.counts();
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

/** What the page shows of the plugin: a field, or the first object. */
function contentOf(page: Page, { field, isFrame }: OpenPage['place']) {
  const shown = isFrame ? page.frameLocator('iframe') : page;
  return field === undefined ? shown.getByText('first') : shown.getByLabel(field, { exact: true });
}

async function openPage(context: BrowserContext, url: string, place: OpenPage['place']): Promise<OpenPage> {
  const page = await context.newPage();
  const complaints = complaintsOf(page, url);
  await page.goto(`${url}${place.path}`);
  const content = contentOf(page, place);
  await content.waitFor();
  if (place.field !== undefined) await content.fill(typed);
  return { place, page, complaints };
}

async function logIn(context: BrowserContext, url: string, password: string): Promise<void> {
  const page = await context.newPage();
  await page.goto(`${url}/console/`);
  await page.getByLabel('Username').fill('admin');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: 'Logged in as admin' }).waitFor();
  await page.close();
}
