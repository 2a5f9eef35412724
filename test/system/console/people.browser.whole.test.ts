import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';
import { notesPlugin } from './plugins.ts';
import { createPosts, postDefinition } from './posts.ts';
import { runCommand, runModule, snippetsOf } from './run-snippet.ts';

const posts = '/g/blog.example.com/posts';

describeInBrowser('people in the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.addPlugin('notes', notesPlugin);
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
    await createPosts(site, 30);
  });
  afterAll(() => site?.stop());

  test('plots, plugins and pages of access management are commands and modules that answer the same', async () => {
    const { token: accessToken } = (await site.accessApi('POST', '/api/v1/authentication/auth/', {
      username: 'admin',
      password: await site.adminPassword(),
    })) as { token: string };
    await site.visit(`${posts}?ns=default&l=parity=even`, async (page) => {
      const open = async (button: Locator): Promise<{ curl: string; sdk: string }> => {
        await button.click();
        const snippets = await snippetsOf(page);
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        return snippets;
      };
      const asCode = page.getByRole('button', { name: 'As code' });
      await page.getByRole('button', { name: 'Plot' }).click();
      await page.getByLabel('Objects by').selectOption('priority');
      const table = page.getByRole('region', { name: 'Plot' }).getByRole('table');
      await table.getByRole('row').nth(2).waitFor();
      const shown = (await table.getByRole('row').allInnerTexts())
        .slice(1)
        .map((row) => row.split('\t').slice(0, 2).join(' '));
      const plot = await open(page.getByRole('region', { name: 'Plot' }).getByRole('button', { name: 'As code' }));
      const asRows = (text: string): string[] =>
        text
          .trim()
          .split('\n')
          .map((row) => row.replace('\t', ' '));
      expect(asRows(await runCommand(plot.curl, site.token))).toEqual(shown);
      expect(asRows(await runModule(plot.sdk, site.token))).toEqual(shown);

      await page.goto(`${site.url}/console/plugins`);
      const plugins = await open(asCode);
      expect(namesOf(await runCommand(plugins.curl, site.token))).toContain('notes');
      await page.goto(`${site.url}/console/plugins/notes`);
      const plugin = await open(asCode);
      expect(JSON.parse(await runCommand(plugin.curl, site.token))).toMatchObject({ metadata: { name: 'notes' } });

      await page.goto(`${site.url}/console/access/users?search=admin`);
      const users = await open(asCode);
      const answer = (await site.accessApi('GET', '/api/v1/users/users/?oid=ROOT&search=admin&limit=25')) as {
        results: { id: string }[];
      };
      const command = JSON.parse(await runCommand(users.curl, accessToken)) as typeof answer;
      expect(command.results.map(({ id }) => id)).toEqual(answer.results.map(({ id }) => id));
      const printed = await runModule(`${users.sdk}\nconsole.log(JSON.stringify(answer.results[0].id));`, accessToken);
      expect(printed.trim().split('\n').at(-1)).toBe(JSON.stringify(answer.results[0]!.id));
      await page.getByRole('row', { name: /admin/ }).getByRole('link').first().click();
      await page.getByRole('heading', { name: 'Roles', exact: true }).waitFor();
      const user = await open(asCode);
      expect(JSON.parse(await runCommand(user.curl, accessToken))).toMatchObject({ username: 'admin' });
      for (const path of ['/access/organizations', '/access/rights?of=access', '/access/changes', '/access/logins']) {
        await page.goto(`${site.url}/console${path}`);
        const records = await open(asCode.first());
        expect(JSON.parse(await runCommand(records.curl, accessToken))).toMatchObject({ count: expect.any(Number) });
      }
      await page.goto(`${site.url}/console/access/rights`);
      const rights = await open(asCode);
      expect(await runModule(rights.sdk, site.token)).toContain('ClusterRoleBinding');
      await page.goto(`${site.url}/console/access/credentials`);
      const tokens = await open(asCode.first());
      expect(JSON.parse(await runCommand(tokens.curl, site.token))).toMatchObject({ items: expect.any(Array) });
      await expectAccessible(page);
    });
  });
});

function namesOf(list: string): string[] {
  const { items } = JSON.parse(list) as { items: { metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name);
}
