import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';
import { createPosts, post, postDefinition, postsPath } from './posts.ts';

describeInBrowser('a list of the console', () => {
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

  test('a model shows its indexes and its fields, a built-in one too', async () => {
    await site.visit(list, async (page) => {
      await page.getByRole('link', { name: 'Fields' }).click();
      await page.getByRole('heading', { name: 'Fields of Post' }).waitFor();
      await page.getByRole('row', { name: 'priority integer yes' }).waitFor();
      await page.getByText('spec', { exact: true }).click();
      await page.getByText('value 0 to 1000').waitFor();
      await page.getByText('title string required').waitFor();
      await expectAccessible(page);
      await page.getByRole('navigation', { name: 'Models' }).getByRole('link', { name: 'Event', exact: true }).click();
      await page.getByRole('link', { name: 'Fields' }).click();
      await page.getByText('involvedObject', { exact: true }).click();
      await page.getByText('fieldPath', { exact: true }).waitFor();
      await page.getByRole('row', { name: 'involvedObject.name string yes' }).waitFor();
    });
  });

  test('a list says since when it may be behind, and catches up', async () => {
    await site.api('POST', postsPath, post('behind', { title: 'Before' }));
    await site.visit('/', async (page, context) => {
      // The server refuses every stream, but answers lists. Requests of a SharedWorker cannot be routed.
      await context.addInitScript('delete globalThis.SharedWorker');
      await page.route(/streams$/, (route) => route.fulfill({ status: 429, body: '' }));
      await page.goto(`${site.url}/console${list}&f=metadata.name%3Dbehind`);
      await page.getByRole('gridcell', { name: 'Before' }).waitFor();
      await page.getByText(/^Not up to date since/).waitFor();
      await expectAccessible(page);
      await site.api('PATCH', `${postsPath}/behind`, { spec: { title: 'After' } });
      await page.unrouteAll();
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('gridcell', { name: 'After' }).waitFor();
    });
  });

  test('a list of any length is a grid for the keyboard, of which few rows are elements', async () => {
    await site.visit(numbered, async (page) => {
      const grid = page.getByRole('grid', { name: 'Objects of Post' });
      await grid.getByRole('link', { name: 'post-000' }).focus();
      expect(await grid.getAttribute('aria-rowcount')).toBe('251');
      await page.keyboard.press('Control+End');
      await grid.locator('[aria-rowindex="251"]').getByText('post-249').waitFor();
      const focused = (): Promise<string> => page.evaluate('document.activeElement.dataset.cell');
      await focusIsIn(focused, '249:1');
      expect(await grid.getByRole('row').count()).toBeLessThan(80);
      await page.keyboard.press('k');
      await focusIsIn(focused, '248:1');
      await page.keyboard.press('ArrowLeft');
      await focusIsIn(focused, '248:0');
      await page.keyboard.press('x');
      await page.getByText('1 selected').first().waitFor();
      await page.keyboard.press('Control+Home');
      await focusIsIn(focused, '0:0');
      await page.keyboard.press('/');
      expect(await page.evaluate('document.activeElement.tagName')).toBe('SELECT');
    });
  });

  test('selected objects are deleted, one after the other, after a question', async () => {
    for (const at of [1, 2, 3, 4]) await site.api('POST', postsPath, post(`bulk-${at}`, { title: 'Bulk' }));
    await site.visit(`${list}&f=metadata.name%5E%3Dbulk`, async (page) => {
      await page.getByRole('checkbox', { name: 'Select bulk-1' }).click();
      await page.getByRole('checkbox', { name: 'Select bulk-3' }).click({ modifiers: ['Shift'] });
      await page.getByText('3 selected').first().waitFor();
      await page.getByRole('checkbox', { name: 'Select bulk-2' }).click();
      await page.getByText('2 selected').first().waitFor();
      await page.getByRole('button', { name: 'Delete' }).click();
      const dialog = page.getByRole('dialog', { name: 'Delete 2 objects?' });
      await dialog.waitFor();
      expect(await dialog.getByRole('listitem').allInnerTexts()).toEqual(['default/bulk-1', 'default/bulk-3']);
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await dialog.getByText('2 objects deleted.').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByText('2 objects', { exact: true }).waitFor();
      await page.getByRole('checkbox', { name: 'Select all that match' }).click();
      await page.getByText('2 selected').first().waitFor();
      expect(await page.getByRole('link', { name: /^bulk-/ }).allInnerTexts()).toEqual(['bulk-2', 'bulk-4']);
    });
  });
});

async function focusIsIn(read: () => Promise<string>, expected: string): Promise<void> {
  await pollUntil(async () => (await read()) === expected, undefined, `the focus in ${expected}`);
}
