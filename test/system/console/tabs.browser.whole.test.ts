import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { hasBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { ConsoleSite } from './console-site.ts';
import { post, postDefinition, postsPath } from './posts.ts';

if (!hasBrowser) test.skip('WARNING: THE CONSOLE IS NOT TESTED: there is no chromium', () => undefined);

(hasBrowser ? describe : describe.skip)('tabs of the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
    for (const name of ['tab-a', 'tab-b']) await site.api('POST', postsPath, post(name, { title: 'Before' }));
    await site.api('POST', '/api/v1/namespaces', { metadata: { name: 'private' } });
    await site.api('POST', '/api/v1/namespaces/private/secrets', { metadata: { name: 'tab' } });
  });
  afterAll(() => site?.stop());

  const list = '/g/blog.example.com/posts?ns=default';
  const streamsOf = (context: BrowserContext): string[] => {
    const streams: string[] = [];
    context.on('request', (request) => {
      if (/\/streams$|watch=true/.test(request.url())) streams.push(request.url());
    });
    return streams;
  };
  const isLive = (page: Page): Promise<void> => page.getByText('Live', { exact: true }).waitFor();

  test('one worker follows the changes of all, and of one person only', async () => {
    const password = await site.addUser('eva');
    await site.visit(list, async (page, context) => {
      const streams = streamsOf(context);
      const [secret, second] = [await context.newPage(), await context.newPage()];
      await secret.goto(`${site.url}/console/g/core/secrets/private/tab`);
      await second.goto(`${site.url}/console${list}`);
      for (const each of [page, secret, second]) await isLive(each);
      await site.api('PATCH', `${postsPath}/tab-a`, { spec: { title: 'After' } });
      await site.api('PATCH', '/api/v1/namespaces/private/secrets/tab', {
        metadata: { labels: { only: 'for-admins' } },
      });
      for (const each of [page, second]) await each.getByRole('gridcell', { name: 'After' }).waitFor();
      await secret.getByText('for-admins').first().waitFor();
      expect(streams).toEqual([]);

      await page.getByRole('button', { name: 'Logged in as admin' }).click();
      await page.getByRole('button', { name: 'Log out' }).click();
      await site.logIn(page, 'eva', password);
      for (const each of [secret, second]) await each.getByRole('button', { name: 'Logged in as eva' }).waitFor();
      await secret.getByText('for-admins').first().waitFor({ state: 'detached' });
      await secret.getByRole('alert').filter({ hasText: 'forbidden' }).first().waitFor();
      await isLive(second);
    });
  });

  test('without such workers each follows by itself', async () => {
    await site.visit('/', async (page, context) => {
      await context.addInitScript('delete globalThis.SharedWorker');
      const streams = streamsOf(context);
      await page.goto(`${site.url}/console${list}`);
      await isLive(page);
      await site.api('PATCH', `${postsPath}/tab-b`, { spec: { title: 'Alone' } });
      await page.getByRole('gridcell', { name: 'Alone' }).waitFor();
      expect(streams.length).toBeGreaterThan(0);
    });
  });
});
