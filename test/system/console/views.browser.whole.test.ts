import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { complaintsOf, startBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';
import { createPosts, post, postDefinition, postsPath } from './posts.ts';

/** Runs in the page. */
function scrollToEnd(element: unknown): void {
  const grid = element as { scrollTo: (x: number, y: number) => void; scrollHeight: number };
  grid.scrollTo(0, grid.scrollHeight);
}

describeInBrowser('lists and trees of the console, as they change', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
    await createPosts(site, 120);
  });
  afterAll(() => site?.stop());

  test('has saved views in its navigation and its palette, as they are now', async () => {
    const views = '/apis/console.svc.run/v1alpha1/savedviews';
    const addView = (name: string, title: string): Promise<unknown> =>
      site.api('POST', views, {
        apiVersion: 'console.svc.run/v1alpha1',
        kind: 'SavedView',
        metadata: { name },
        spec: { title, model: 'posts.blog.example.com', namespace: 'default', fields: ['priority>=115'] },
      });
    await addView('highest', 'Highest');
    await site.visit('/', async (page) => {
      const own = page.getByRole('navigation', { name: 'Models' }).getByRole('list', { name: 'Views of Post' });
      const highest = own.getByRole('link', { name: 'Highest' });
      await highest.click();
      await page.getByText('5 objects', { exact: true }).waitFor();
      expect(await highest.getAttribute('aria-current')).toBe('page');
      expect(await page.locator('.navigation [aria-current]').count()).toBe(1);
      await expectAccessible(page);

      for (let at = 0; at < 11; at += 1) await addView(`other-${at}`, `Other ${at}`);
      await own.getByText('and 2 more in its list').waitFor();
      expect(await own.getByRole('link').count()).toBe(10);
      await page.getByLabel('Find a model').fill('other 10');
      await own.getByRole('link', { name: 'Other 10' }).waitFor();
      expect(await own.getByRole('link').count()).toBe(1);
      await page.getByLabel('Find a model').fill('');

      await site.api('PATCH', `${views}/highest`, { spec: { title: 'Most urgent', fields: ['priority>=118'] } });
      await own.getByRole('link', { name: 'Most urgent' }).waitFor();
      expect(await own.getByRole('link', { name: 'Most urgent' }).getAttribute('aria-current')).toBeNull();
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder('Search models and commands').fill('urgent post');
      await page.getByRole('menuitem', { name: /^Most urgent: view of Post/ }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByText('2 objects', { exact: true }).waitFor();
      await site.api('DELETE', `${views}/highest`);
      await own.getByRole('link', { name: 'Most urgent' }).waitFor({ state: 'detached' });
    });
  });

  test('reads the rows of a list that change, and keeps the focus at its object', async () => {
    await site.visit('/g/blog.example.com/posts?ns=default', async (page) => {
      const cellOf = (name: string, text: string) =>
        page.getByRole('row', { name: new RegExp(name) }).getByRole('gridcell', { name: text });
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'post-005' }).focus();
      const selectors: (string | null)[] = [];
      page.on('request', (request) => {
        const url = new URL(request.url());
        if (url.pathname === postsPath) selectors.push(url.searchParams.get('fieldSelector'));
      });
      // On the second page, which nobody sees; then one that is seen.
      await site.api('PATCH', `${postsPath}/post-118`, { spec: { title: 'Unseen' } });
      await site.api('PATCH', `${postsPath}/post-003`, { spec: { title: 'Seen' } });
      await cellOf('post-003', 'Seen').waitFor();
      expect(selectors).toContain('metadata.name=post-003');
      expect(selectors.join()).not.toContain('post-118');

      await site.api('POST', postsPath, post('post-002-and-a-half', { title: 'Between' }));
      await cellOf('post-002-and-a-half', 'Between').waitFor();
      await page.keyboard.press('ArrowDown');
      await pollUntil(async () => (await page.evaluate('document.activeElement.textContent')) === 'post-006');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'post-006' }).waitFor();
      await page.goBack();
      await page.getByRole('grid').evaluate(scrollToEnd);
      await cellOf('post-118', 'Unseen').waitFor();
    });
  });

  test('shows owners and dependents of an object as they come and go', async () => {
    const references = (owner: Record<string, unknown>): object[] => {
      const { name, uid } = owner['metadata'] as { name: string; uid: string };
      return [{ apiVersion: 'blog.example.com/v1', kind: 'Post', name, uid }];
    };
    const root = await site.api('POST', postsPath, post('live-root', { title: 'Root' }));
    const top = await site.api('POST', postsPath, post('live-top', { title: 'Top' }));
    const middle = await site.api('POST', postsPath, post('live-middle', { title: 'Middle' }));
    await site.visit('/g/blog.example.com/posts/default/live-middle', async (page) => {
      const section = page.getByRole('region', { name: 'Owners and dependents' });
      await section.getByText('No object owns this one.').waitFor();
      await section.getByRole('button', { name: 'Find dependents of live-middle' }).click();
      await section.getByText('No object that you may list names it as its owner.').waitFor();

      await site.api('POST', '/api/v1/namespaces/default/configmaps', {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'live-leaf', ownerReferences: references(middle) },
      });
      await section.getByRole('link', { name: 'ConfigMap: 1' }).waitFor();
      await section.getByRole('link', { name: 'live-leaf' }).waitFor();
      await site.api('PATCH', `${postsPath}/live-middle`, { metadata: { ownerReferences: references(top) } });
      await section.getByRole('link', { name: 'Post live-top' }).waitFor();
      await site.api('PATCH', `${postsPath}/live-top`, { metadata: { ownerReferences: references(root) } });
      await section.getByRole('link', { name: 'Post live-root' }).waitFor();
      await expectAccessible(page);

      await site.api('PATCH', `${postsPath}/live-top`, { metadata: { ownerReferences: [] } });
      await section.getByRole('link', { name: 'Post live-root' }).waitFor({ state: 'detached' });
      await site.api('DELETE', '/api/v1/namespaces/default/configmaps/live-leaf');
      await section.getByText('No object that you may list names it as its owner.').waitFor();
      await section.getByRole('button', { name: 'Hide dependents of live-middle' }).press('Enter');
      await section.getByRole('button', { name: 'Find dependents of live-middle' }).waitFor();
    });
  });

  test('shows the indexes of a model as they are now, and where a part cannot be loaded it says so', async () => {
    const fields = '/g/blog.example.com/posts/fields';
    await site.visit(fields, async (page) => {
      await page.getByText('all indexes are ready').waitFor();
      await expectAccessible(page);
      const [version] = postDefinition.spec.versions;
      const title = { name: 'title', path: 'spec.title', type: 'string', unique: true };
      await site.api('PATCH', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/posts.blog.example.com', {
        spec: { versions: [{ ...version, indexes: [...version!.indexes, title] }] },
      });
      await page.getByRole('row', { name: 'title string yes yes' }).waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('e');
      await page.getByRole('button', { name: 'As code' }).click();
      await page.getByRole('dialog').getByText('lastTimestamp,desc').first().waitFor();
    });
    const browser = await startBrowser();
    try {
      const page = await browser.newPage({ locale: 'en-US' });
      await page.route(/\/assets\/fields-page/, (route) => route.fulfill({ status: 404 }));
      await page.goto(`${site.url}/console${fields}`);
      await site.logIn(page);
      await page.getByText('This part of the console could not be loaded').waitFor();
      await page.getByRole('navigation', { name: 'Models' }).getByRole('link', { name: 'Post' }).click();
      await page.getByRole('link', { name: 'post-000' }).waitFor();
      await page.goBack();
      const again = page.getByRole('button', { name: 'Load the page again' });
      await again.waitFor();
      await page.unrouteAll();
      await again.click();
      await page.getByRole('heading', { name: 'Fields of Post' }).waitFor();
    } finally {
      await browser.close();
    }
  });

  test('is served from its sources next to a running server', async () => {
    const vite = fileURLToPath(new URL('../../../node_modules/vite/bin/vite.js', import.meta.url));
    const repository = fileURLToPath(new URL('../../../', import.meta.url));
    const dev = spawn(process.execPath, [vite, '--config', 'console/vite.config.ts', '--port', '0'], {
      cwd: repository,
      env: { ...process.env, NODE_ENV: 'development', NO_COLOR: '1', SVC_CONSOLE_PLATFORM: site.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const browser = await startBrowser();
    try {
      let printed = '';
      let url: string | undefined;
      while (url === undefined) {
        const [chunk] = (await once(dev.stdout, 'data')) as [Buffer];
        printed += chunk.toString();
        url = /Local:\s+(\S+)\//.exec(printed)?.[1];
      }
      const page = await browser.newPage({ locale: 'en-US' });
      page.setDefaultTimeout(60_000);
      const complaints = complaintsOf(page, new URL(url).origin);
      await page.goto(`${url}/g/blog.example.com/posts?ns=default`);
      await site.logIn(page);
      await page.getByRole('link', { name: 'post-000' }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
      dev.kill();
      await once(dev, 'exit');
    }
  });
});
