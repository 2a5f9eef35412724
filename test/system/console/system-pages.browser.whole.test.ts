import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { ConsoleSite, drawPicture, expectAccessible } from './console-site.ts';
import { brokenPlugin } from './plugins.ts';
import { createPosts, post, postDefinition, postsPath } from './posts.ts';

describeInBrowser('the console shows the system:', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.addPlugin('broken', brokenPlugin);
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
    await createPosts(site, 60);
  });
  afterAll(() => site?.stop());

  async function addEvent(name: string, event: object): Promise<void> {
    await site.api('POST', '/api/v1/namespaces/default/events', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name },
      involvedObject: { apiVersion: 'blog.example.com/v1', kind: 'Post', namespace: 'default', name: 'post-001' },
      lastTimestamp: new Date().toISOString(),
      ...event,
    });
  }

  test('events of all models as they come, filtered by the server', async () => {
    await addEvent('first', { type: 'Normal', reason: 'Read', message: 'Somebody read it.', count: 3 });
    await site.visit('/events?ns=default&name=post-001', async (page) => {
      await page.getByRole('row', { name: /Normal Post default\/post-001 Read Somebody read it\. 3$/ }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      // A read that fails is tried again, even if nothing changes any more.
      const reads = /\/events\?.*sort=/;
      await page.route(reads, (route) => route.fulfill({ status: 400, json: { kind: 'Status', message: 'Not now.' } }));
      await addEvent('second', { type: 'Warning', reason: 'Unread', message: 'Nobody read it.' });
      await page.getByRole('alert').getByText('Not now.').waitFor();
      await page.unroute(reads);
      await page.getByRole('cell', { name: 'Nobody read it.' }).waitFor();
      await expectAccessible(page);
      await page.getByLabel('Type').selectOption('Warnings');
      await page.getByText('1 event', { exact: true }).waitFor();
      await page.getByLabel('Kind').fill('Tag');
      await page.keyboard.press('Enter');
      await page.getByText('There are no events.').waitFor();
      expect(new URL(page.url()).search).toBe('?ns=default&type=Warning&kind=Tag&name=post-001');
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Show all' }).click();
      await page
        .getByRole('row', { name: /^\d+\w ago Warning Plugin broken / })
        .first()
        .waitFor();
      await page.getByRole('link', { name: 'Post default/post-001' }).first().click();
      await page.getByRole('heading', { name: 'post-001' }).waitFor();
    });
  });

  test('what needs attention is on the overview', async () => {
    await addEvent('third', { type: 'Warning', reason: 'Lost', message: 'It is lost.' });
    await site.visit('/', async (page) => {
      await page.getByRole('region', { name: 'Newest warnings' }).getByText('It is lost.').waitFor();
      await page.getByRole('region', { name: 'Plugins' }).getByText('I have lost my notes').waitFor();
      await expectAccessible(page);
    });
  });

  test('health, in plain numbers for who may see them', async () => {
    await site.visit('/health', async (page) => {
      await page.getByText('Ready', { exact: true }).waitFor();
      await page.getByText('database ok', { exact: true }).waitFor();
      await page.getByText('Open watches').waitFor();
      await page.getByRole('row', { name: /^garbage-collector/ }).waitFor();
      await expectAccessible(page);
      await drawPicture(page, 'console-health');
    });
    const password = await site.addUser('watcher');
    await site.visit(
      '/health',
      async (page) => {
        await page.getByText('Your roles do not have this rule: get /metrics').waitFor();
        await page.getByText('database ok', { exact: true }).waitFor();
        await expectAccessible(page);
      },
      { user: 'watcher', password },
    );
  });

  test('a plot of a list, with a table of the same numbers, as they change', async () => {
    await site.visit('/g/blog.example.com/posts?ns=default', async (page) => {
      await page.getByText('60 objects').waitFor();
      await page.getByRole('button', { name: 'Plot' }).click();
      await page.getByRole('img', { name: 'Objects by metadata.creationTimestamp' }).waitFor();
      await page.getByRole('combobox', { name: 'Objects by' }).selectOption('priority');
      // More values than bars: ranges.
      await page.getByRole('row', { name: '0 to 4 5 8.3%' }).waitFor();
      await page.locator('canvas').waitFor();
      await expectAccessible(page);
      await drawPicture(page, 'console-plot');
      await site.api('POST', postsPath, post('plotted', { title: 'Plotted', priority: 3 }));
      await page.getByRole('row', { name: /^0 to 4 6 / }).waitFor();
      await site.api('POST', postsPath, post('unplotted', { title: 'Without a priority' }));
      await page.getByRole('row', { name: /^not set 1 / }).waitFor();
      // A filter of the same index, and few values: each of them.
      await page.getByLabel('Condition').selectOption('at least');
      await page.getByLabel('Value', { exact: true }).fill('58');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('row', { name: '58 1 50%' }).waitFor();
      await page.getByRole('row', { name: '59 1 50%' }).waitFor();
      await page.getByRole('combobox', { name: 'Objects by' }).selectOption('metadata.namespace');
      await page.getByRole('row', { name: 'default 2 100%' }).waitFor();
      await expectAccessible(page);
    });
  });

  test('the plots are a part of their own, of at most 30 kB', async () => {
    const names = (await readdir(join(site.dist, 'assets'))).filter((name) => /^plot-panel.*\.js\.gz$/.test(name));
    expect(names).toHaveLength(1);
    expect((await stat(join(site.dist, 'assets', names[0]!))).size).toBeLessThanOrEqual(30_000);
  });
});
