import { existsSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { chromium, type Browser, type Page } from 'playwright-core';
import {
  ModelList,
  registered,
  startDocumentServer,
  testModel,
  type DocumentTestServer,
} from './document-test-server.ts';

const executablePath = '/usr/bin/chromium';
// In CI a missing browser is a failure.
const runs = existsSync(executablePath) || process.env['CI'] === 'true';
const args = [
  '--no-sandbox',
  '--headless',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];
const hostile =
  '</script><script>window.broken = 1</script><img src=/x onerror="window.broken = 2"> ![](http://elsewhere.invalid/x.png) [link](javascript:window.broken=3)';

if (!runs) test.skip(`WARNING: THE DOCUMENTATION PAGE IS NOT TESTED: there is no ${executablePath}`, () => undefined);

(runs ? describe : describe.skip)('the documentation page in a browser', () => {
  const registry = new ModelList([
    testModel({
      indexes: [
        { name: 'spec.title', path: 'spec.title', type: 'string', multi: false, unique: false, nullable: true },
      ],
    }),
  ]);
  let server: DocumentTestServer;
  let browser: Browser;
  let page: Page;
  let complaints: string[];
  let foreign: string[];

  beforeAll(async () => {
    server = await startDocumentServer(registry);
    browser = await chromium.launch({ executablePath, args });
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  beforeEach(async () => {
    page = await browser.newPage();
    complaints = [];
    foreign = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      const url = request.url();
      if (new URL(url).origin !== server.origin && !url.startsWith('data:')) foreign.push(url);
    });
  });

  afterEach(() => page.close());

  /** The content of the page's persistent storage. */
  function stored(): Promise<string> {
    return page.evaluate(() => {
      const { localStorage, sessionStorage } = globalThis as unknown as Record<string, object>;
      return JSON.stringify([localStorage, sessionStorage]);
    });
  }

  async function useToken(token: string): Promise<void> {
    await page.getByLabel('Personal token').fill(token);
    await page.getByRole('button', { name: 'Use token' }).click();
  }

  test('shows the public document to anyone, and the operations of a model to a user with a token', async () => {
    await page.goto(`${server.origin}/docs`);
    await page.locator('.opblock-tag', { hasText: 'server' }).click();
    await page.locator('#operations-server-isReady').waitFor();
    await useToken('pat_good');
    await page.getByLabel('Document').selectOption('extension');
    const tag = page.locator('.opblock-tag', { hasText: 'blog.example.com/v1 Post' });
    await tag.waitFor();
    await tag.click();
    const list = page.locator('.opblock', { hasText: 'List or watch posts' });
    await list.waitFor();
    await list.locator('.opblock-summary-control').click();
    await list.getByText('spec.title').first().waitFor();
    expect(new URL(page.url()).searchParams.get('document')).toBe('extension');
    expect(page.url()).toContain('#/');
    expect(complaints).toEqual([]);
    expect(foreign).toEqual([]);
  });

  test('opens a document by its link, and explains a wrong or missing token', async () => {
    await page.goto(`${server.origin}/docs?document=extension`);
    await page.getByRole('status').getByText('This document needs a personal token.').waitFor();
    await useToken('pat_wrong');
    await page.getByRole('status').getByText('The token is not valid.').waitFor();
    await useToken('pat_good');
    await page.locator('.opblock-tag', { hasText: 'blog.example.com/v1 Post' }).waitFor();
    await expect(page.getByRole('status').textContent()).resolves.toBe('');
    await expect(stored()).resolves.toBe('[{},{}]');
    await page.reload();
    await page.getByRole('status').getByText('This document needs a personal token.').waitFor();
  });

  test('a token in Authorize opens the other documents too', async () => {
    await page.goto(`${server.origin}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    await page.locator('.auth-container', { hasText: 'personalToken' }).locator('input').fill('pat_good');
    await page
      .locator('.auth-container', { hasText: 'personalToken' })
      .getByRole('button', { name: 'Apply credentials' })
      .click();
    await page.locator('.modal-ux').getByRole('button', { name: 'Close' }).first().click();
    await page.getByLabel('Document').selectOption('extension');
    await page.locator('.opblock-tag', { hasText: 'blog.example.com/v1 Post' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('escapes texts of a model, whatever they contain', async () => {
    const before = registry.models();
    registry.set([
      ...before,
      registered(
        testModel(
          { group: 'hostile.example.com' },
          {
            schema: {
              type: 'object',
              description: hostile,
              properties: { spec: { type: 'object', description: hostile } },
            },
          },
        ),
      ),
    ]);
    await page.goto(`${server.origin}/docs`);
    await useToken('pat_good');
    await page.getByLabel('Document').selectOption('extension');
    const tag = page.locator('.opblock-tag-section', { hasText: 'hostile.example.com/v1 Post' });
    await tag.locator('.opblock-tag').click();
    await tag.locator('.opblock', { hasText: 'Create a Post' }).locator('.opblock-summary-control').click();
    await tag.locator('.opblock-body').waitFor();
    expect(await page.evaluate(() => (globalThis as { broken?: number }).broken)).toBeUndefined();
    expect(foreign).toEqual([]);
    registry.set(before);
  });
});
