import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Router } from 'express';
import type { Browser } from 'playwright-core';
import { clientModule } from '../../../hack/builds/bundle-client.mjs';
import { complaintsOf, startBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { definePosts, postType, startTestEnv, type TestEnv } from '../../../pkg/testenv/index.ts';

const lists = 10;

/** A page with so many live lists, each of its own selection; its title counts what they hold. */
const script = (token: string): string => `
import { connect, live } from '/page/client.js';
const posts = connect({ credential: ${JSON.stringify(token)} }).resource(${JSON.stringify(postType)});
const all = Array.from({ length: ${lists} }, (_, i) => live(posts, { labels: { list: String(i) } }));
const show = () => {
  const count = (isSo) => all.filter(isSo).length;
  document.title = count((list) => list.state.name === 'live') + ' live, ' + count((list) => list.current.length === 1) + ' with one';
};
for (const list of all) list.subscribe(show);
globalThis.posts = posts;
`;

describeInBrowser('a page over HTTP/1.1', () => {
  let env: TestEnv;
  let browser: Browser;
  beforeAll(async () => {
    const client = await clientModule("export * from './pkg/webclient/index.ts';");
    const router = Router();
    const page =
      '<!doctype html><title>Lists</title><link rel="icon" href="data:,"><script type="module" src="/page/page.js"></script>';
    for (const [path, type, text] of [
      ['/', 'text/html', () => page],
      ['/client.js', 'text/javascript', () => client],
      ['/page.js', 'text/javascript', () => script(env.token)],
    ] as const)
      router.get(path, (_request, response) => {
        response.setHeader('Content-Type', type);
        response.setHeader('Content-Security-Policy', "default-src 'self'; img-src data:");
        response.end(text());
      });
    env = await startTestEnv({ endpoints: () => ({ groups: [{ prefix: '/page', isOpen: true, router }] }) });
    await definePosts(env);
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await env?.stop();
  });

  test(`has ${lists} live lists, and its requests go through`, async () => {
    const page = await browser.newPage();
    const complaints = complaintsOf(page, env.url);
    await page.goto(`${env.url}/page/`);
    const title = (expected: string): Promise<void> => pollUntil(async () => (await page.title()) === expected);
    await title(`${lists} live, 0 with one`);
    // Each is a request of the page, which a seventh connection would block.
    for (let i = 0; i < lists; i += 1)
      await page.evaluate(
        `posts.create({ metadata: { name: 'post-${i}', labels: { list: '${i}' } }, spec: { title: 'x' } })`,
      );
    await title(`${lists} live, ${lists} with one`);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
