import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { ConsoleSite, drawPicture, expectAccessible, streamsOf } from './console-site.ts';
import { createPosts, post, postDefinition, postsPath } from './posts.ts';

describeInBrowser('the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
    await createPosts(site, 250);
  });
  afterAll(() => site?.stop());

  const list = '/g/blog.example.com/posts?ns=default';
  // Other tests add others.
  const numbered = `${list}&f=metadata.name%5E%3Dpost-`;

  test('the first page loads at most 150 kB of script, and 15 kB of style, in 8 files', async () => {
    const page = await readFile(join(site.dist, 'index.html'), 'utf8');
    const sizes = { js: 0, css: 0 };
    const files = [...page.matchAll(/\/console\/(assets\/[^"]+\.(js|css))"/g)];
    expect(files.length).toBeLessThanOrEqual(8);
    for (const [, name, type] of files) sizes[type as 'js' | 'css'] += (await stat(join(site.dist, `${name}.gz`))).size;
    expect(sizes.js).toBeGreaterThan(50_000);
    expect(sizes.js).toBeLessThanOrEqual(150_000);
    expect(sizes.css).toBeLessThanOrEqual(15_000);
  });

  test('says that the password is wrong, and keeps the username', async () => {
    await site.visit(
      '/',
      async (page) => {
        await page.context().clearCookies();
        await page.reload();
        await page.getByLabel('Username').fill('admin');
        await page.getByLabel('Password').fill('wrong');
        await page.keyboard.press('Enter');
        await page.getByRole('alert').waitFor();
        expect(await page.getByLabel('Username').inputValue()).toBe('admin');
      },
      // The page may ask once more before it is left.
      { expected: /status of 401/ },
    );
  });

  test('a new model appears without a reload', async () => {
    await site.visit('/', async (page) => {
      await page.getByRole('link', { name: 'Post', exact: true }).first().waitFor();
      await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', renamed(postDefinition));
      await page.getByRole('navigation').getByRole('link', { name: 'Recipe', exact: true }).click();
      await page.getByText('There are no objects.').waitFor();
      await expectAccessible(page);
    });
  });

  test('a list is filtered and sorted by the server, and its URL says how', async () => {
    await site.visit(list, async (page) => {
      await page.getByText('250 objects').waitFor();
      await page.getByLabel('Field').selectOption('priority');
      await page.getByLabel('Condition').selectOption('at least');
      await page.getByLabel('Value').fill('240');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByText('10 objects').waitFor();
      await page.getByLabel('Label').fill('parity=even');
      await page.getByRole('button', { name: 'Add label' }).click();
      await page.getByText('5 objects').waitFor();
      // A request of the page itself may be the first that is refused, and its dialog covers the button.
      await page.getByRole('button', { name: 'Priority', exact: true }).dispatchEvent('click');
      // A request of the page itself may be the first that is refused, and its dialog covers the button.
      await page.getByRole('button', { name: 'Priority', exact: true }).dispatchEvent('click');
      expect(await page.locator('[aria-sort=descending]').innerText()).toContain('Priority');
      await page
        .getByRole('row', { name: /post-248/ })
        .and(page.locator('[aria-rowindex="2"]'))
        .waitFor();
      expect(new URL(page.url()).search).toBe('?ns=default&f=priority%3E%3D240&l=parity%3Deven&sort=priority%2Cdesc');
      await page.reload();
      await page.getByText('5 objects').waitFor();
      await page
        .getByRole('row', { name: /post-248/ })
        .and(page.locator('[aria-rowindex="2"]'))
        .waitFor();
      await expectAccessible(page);
      await drawPicture(page, 'console-list');
      await page.getByRole('button', { name: 'Remove the condition priority>=240' }).click();
      await page.getByText('125 objects').waitFor();
    });
  });

  test('without a SharedWorker a page follows by itself', async () => {
    await site.api('POST', postsPath, post('alone', { title: 'Before' }));
    await site.visit('/', async (page, context) => {
      await context.addInitScript('delete globalThis.SharedWorker');
      const streams = streamsOf(context);
      await page.goto(`${site.url}/console${list}&f=metadata.name%3Dalone`);
      await page.getByText('Live', { exact: true }).waitFor();
      await site.api('PATCH', `${postsPath}/alone`, { spec: { title: 'Followed' } });
      await page.getByRole('gridcell', { name: 'Followed' }).waitFor();
      expect(streams.length).toBeGreaterThan(0);
    });
  });

  test('a page says within 25 s that the server is silent, and is live again after it', async () => {
    await site.visit('/', async (page, context) => {
      await context.addInitScript('delete globalThis.SharedWorker');
      await page.clock.install();
      await page.goto(`${site.url}/console${list}`);
      const live = page.getByText('Live', { exact: true });
      await live.waitFor();
      site.freeze();
      try {
        await page.clock.fastForward(25_000);
        await page.getByText('Not up to date since').waitFor();
      } finally {
        site.resume();
      }
      await page.clock.fastForward(25_000);
      await live.waitFor();
    });
  });

  test('when the session ends, the page asks for the password and goes on', async () => {
    await site.visit(
      numbered,
      async (page, context) => {
        await page.locator('[aria-rowindex="2"]').getByText('post-000').waitFor();
        await page.getByLabel('Label').fill('typed=before');
        await context.clearCookies();
        // A request of the page itself may be the first that is refused, and its dialog covers the button.
        await page.getByRole('button', { name: 'Priority', exact: true }).dispatchEvent('click');
        const dialog = page.getByRole('dialog', { name: 'Log in again' });
        await dialog.waitFor();
        await expectAccessible(page);
        await dialog.getByLabel('Password').fill(await site.adminPassword());
        await page.keyboard.press('Enter');
        await dialog.waitFor({ state: 'detached' });
        expect(await page.getByLabel('Label').inputValue()).toBe('typed=before');
        await page.locator('[aria-rowindex="2"]').getByText('post-000').waitFor();
      },
      { expected: /status of 401/ },
    );
  });

  test('what a person may not do is there, off, and names the rule', async () => {
    const password = await site.addUser('reader');
    await site.visit(
      '/g/core/namespaces',
      async (page) => {
        const create = page.getByRole('button', { name: 'New' }).and(page.locator('[aria-disabled=true]'));
        await create.focus();
        await page.getByText('Your roles do not have this rule: create namespaces').waitFor();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Namespace', exact: true }).waitFor();
        await expectAccessible(page);
      },
      { user: 'reader', password },
    );
  });
});

function renamed(definition: typeof postDefinition): object {
  const names = { plural: 'recipes', singular: 'recipe', kind: 'Recipe' };
  return { ...definition, metadata: { name: 'recipes.blog.example.com' }, spec: { ...definition.spec, names } };
}
