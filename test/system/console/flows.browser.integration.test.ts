import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, drawPicture, expectAccessible, streamsOf } from './console-site.ts';
import { notesPlugin } from './plugins.ts';
import { createPosts, post, postDefinition, postsPath } from './posts.ts';
import { replaceInYaml, yamlEditor } from './yaml-editor.ts';

/** What people do most in the console. `npm test` runs these flows, and CI the `.whole` files with the others, too. */
describeInBrowser('the main flows of the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.addPlugin('notes', notesPlugin);
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
    await createPosts(site, 12);
  });
  afterAll(() => site?.stop());

  const posts = '/g/blog.example.com/posts';

  test('a person logs in, sees every model and how many objects it has, and logs out', async () => {
    await site.visit(
      '/',
      async (page) => {
        await page.getByRole('heading', { name: 'Overview' }).waitFor();
        const row = page.getByRole('row', { name: /^Post blog\.example\.com/ });
        await row.getByText('12', { exact: true }).waitFor();
        await expectAccessible(page);
        await page.getByRole('button', { name: 'Logged in as admin' }).click();
        await page.getByRole('dialog').getByLabel('Dark').check();
        expect(await page.evaluate('document.documentElement.dataset.appearance')).toBe('dark');
        await expectAccessible(page);
        await page.getByRole('button', { name: 'Log out' }).click();
        await page.getByRole('heading', { name: 'Log in' }).waitFor();
        await expectAccessible(page);
      },
      { isNewSession: true },
    );
  });

  test('the palette finds a model, and a key lists the keys', async () => {
    await site.visit('/', async (page) => {
      await page.getByRole('link', { name: 'Post', exact: true }).first().waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
      await expectAccessible(page);
      await page.keyboard.type('go to post');
      await page.getByRole('menuitem', { name: 'Go to Post' }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Post', exact: true }).waitFor();
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('g');
      await page.keyboard.press('o');
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
    });
  });

  test('a list follows what others write, and says that it is live', async () => {
    await site.visit(`${posts}?ns=default&f=metadata.name%5E%3Dlive`, async (page) => {
      await page.getByText('No object matches the filter.').waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      await site.api('POST', postsPath, post('live-1', { title: 'First' }));
      await page.getByRole('gridcell', { name: 'First' }).waitFor();
      await site.api('PATCH', `${postsPath}/live-1`, { spec: { title: 'Second' } });
      await page.getByRole('gridcell', { name: 'Second' }).waitFor();
      await site.api('DELETE', `${postsPath}/live-1`);
      await page.getByText('No object matches the filter.').waitFor();
    });
  });

  test('an object is created by its form, which the server checks while one types', async () => {
    await site.visit(`${posts}?ns=default`, async (page) => {
      const reads: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'GET') reads.push(new URL(request.url()).pathname);
      });
      await page.getByRole('link', { name: 'post-000' }).waitFor();
      await page.keyboard.press('n');
      const form = page.getByRole('group', { name: 'Form', exact: true });
      const field = (group: string, name: string): Locator =>
        form.getByRole('group', { name: group, exact: true }).getByLabel(name, { exact: true });
      await field('metadata', 'name').fill('by-form');
      await field('spec', 'title').fill('By form');
      await field('spec', 'priority').fill('5000');
      await page.getByText(/^The server would refuse this, for 1 reason\.$/).waitFor();
      expect(await field('spec', 'priority').getAttribute('aria-invalid')).toBe('true');
      await expectAccessible(page);
      await field('spec', 'priority').fill('50');
      await page.getByText('The server would accept this.').waitFor();
      await page.keyboard.press('Control+s');
      await page.getByRole('heading', { name: 'by-form' }).waitFor();
      await page.getByRole('link', { name: 'Form', exact: true }).click();
      await field('spec', 'title').waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      const [index, object] = ['/openapi/v3', `${postsPath}/by-form`];
      expect(reads.filter((path) => path === index || path === object)).toEqual([index, object]);
    });
    expect(await site.api('GET', `${postsPath}/by-form`)).toMatchObject({ spec: { title: 'By form', priority: 50 } });
  });

  test('an object is edited as YAML, compared, and saved', async () => {
    await site.api('POST', postsPath, post('edited', { title: 'Before', body: 'Text' }));
    await site.visit(`${posts}/default/edited`, async (page) => {
      await page.getByRole('heading', { name: 'edited' }).waitFor();
      await page.keyboard.press('e');
      await yamlEditor(page, 'YAML of edited').waitFor();
      await page.getByText('Nothing is changed.').waitFor();
      await replaceInYaml(page, 'YAML of edited', 'title: Before', 'title: After');
      await page.getByRole('button', { name: 'Review changes' }).click();
      await page.locator('.difference').getByText('After').waitFor();
      await expectAccessible(page);
      // Another tab loses nothing.
      await page.getByRole('link', { name: 'Overview' }).last().click();
      await page.getByRole('link', { name: 'YAML' }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      await expectAccessible(page);
      // Who has typed nothing sees what others save.
      await site.api('PATCH', `${postsPath}/edited`, { spec: { body: 'Theirs' } });
      await yamlEditor(page, 'YAML of edited').getByText('Theirs').waitFor();
    });
    expect(await site.api('GET', `${postsPath}/edited`)).toMatchObject({ spec: { title: 'After', body: 'Theirs' } });
  });

  test('an object is merged by field when two people edit it, and a conflict is decided by its value', async () => {
    await site.api('POST', postsPath, post('shared', { title: 'Base', body: 'Base', priority: 1 }));
    await site.visit(`${posts}/default/shared?tab=yaml`, async (page) => {
      await yamlEditor(page, 'YAML of shared').waitFor();
      await replaceInYaml(page, 'YAML of shared', 'title: Base', 'title: Mine');
      await site.api('PATCH', `${postsPath}/shared`, { spec: { title: 'Theirs', body: 'Their body', priority: 7 } });
      await page.getByText('Somebody else saved this object while you were editing.').waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Merge their changes into mine' }).click();
      await page.getByRole('button', { name: 'Mine: spec.title' }).waitFor();
      await expectAccessible(page);
      await drawPicture(page, 'console-conflict');
      await page.getByRole('button', { name: 'Mine: spec.title' }).click();
      await yamlEditor(page, 'YAML of shared').getByText('Their body').waitFor();
      await page.keyboard.press('Control+s');
      await page.getByText('Saved.').waitFor();
    });
    expect(await site.api('GET', `${postsPath}/shared`)).toMatchObject({
      spec: { title: 'Mine', body: 'Their body', priority: 7 },
    });
  });

  test('files are checked and compared before they are applied', async () => {
    await site.api('POST', postsPath, post('applied', { title: 'Before' }));
    const definition = { ...postDefinition, metadata: { name: 'notes.blog.example.com' } };
    const names = { plural: 'notes', singular: 'note', kind: 'Note' };
    const applied = { ...post('applied', { title: 'After' }), metadata: { name: 'applied', finalizers: ['plain'] } };
    const files = [
      [applied, { ...post('fresh', { title: 'Fresh' }), kind: 'Nothing' }],
      [
        {
          apiVersion: 'blog.example.com/v1',
          kind: 'Note',
          metadata: { name: 'note', namespace: 'paper' },
          spec: { title: 'A' },
        },
        { ...definition, spec: { ...definition.spec, names } },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'paper' } },
      ],
    ];
    await site.visit('/', async (page) => {
      await page.getByRole('link', { name: 'Apply files' }).click();
      await page.getByLabel('Choose files').setInputFiles(
        files.map((objects, at) => ({
          name: `${at}.yaml`,
          mimeType: 'application/yaml',
          buffer: Buffer.from(objects.map((each) => JSON.stringify(each, undefined, 2)).join('\n---\n')),
        })),
      );
      await page.getByRole('button', { name: 'Check' }).click();
      const results = page.locator('.applied > li');
      await results.first().waitFor();
      // However long the text is.
      const { y } = (await results.first().boundingBox())!;
      expect(y).toBeLessThan(page.viewportSize()!.height);
      const told = async (): Promise<string[]> =>
        (await results.allInnerTexts()).map((text) => text.split('\n')[0]!.trim());
      const needed = [
        'Namespace paper will be created Difference',
        'CustomResourceDefinition notes.blog.example.com will be created Difference',
      ];
      const rest = [
        'Nothing fresh refused',
        'Note paper/note needs what is in these files, and is checked when it is applied',
      ];
      // The title is a field of whoever created it.
      expect(await told()).toEqual([...needed, 'Post applied refused', ...rest]);
      await page.getByText('The server has no Nothing of blog.example.com/v1.').waitFor();
      await expectAccessible(page);
      await page.getByLabel('Take over fields that others manage').check();
      await page.getByRole('button', { name: 'Check' }).click();
      await results.first().waitFor();
      expect(await told()).toEqual([...needed, 'Post applied will change Difference', ...rest]);
      await results.filter({ hasText: 'Post applied' }).getByText('prefer a domain-qualified').waitFor();
      await page.getByRole('button', { name: 'Difference: Post applied' }).click();
      await page.locator('.difference').getByText('After').waitFor();
      await expectAccessible(page);
      expect(await site.api('GET', `${postsPath}/applied`)).toMatchObject({ spec: { title: 'Before' } });
      await page.getByRole('button', { name: 'Apply 5 objects' }).click();
      await pollUntil(async () => (await told()).at(-1) === 'Note paper/note applied');
      expect((await told()).filter((text) => text.endsWith(' refused'))).toEqual(['Nothing fresh refused']);
    });
    expect(await site.api('GET', `${postsPath}/applied`)).toMatchObject({ spec: { title: 'After' } });
    expect(await site.api('GET', '/apis/blog.example.com/v1/namespaces/paper/notes/note')).toMatchObject({
      spec: { title: 'A' },
    });
  });

  test('a plugin is enabled and disabled by key, and shows what it brought', async () => {
    await site.visit('/', async (page) => {
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('p');
      const row = page.getByRole('row', { name: /^Notes/ });
      await row.getByText('Disabled').waitFor();
      await expectAccessible(page);
      await row.getByRole('button', { name: 'Enable Notes' }).press('Enter');
      await row.getByText('Started').waitFor();
      await row.getByRole('link', { name: 'Notes' }).click();
      await page.getByRole('heading', { name: 'What it brought' }).waitFor();
      await page.getByText('note-reader').waitFor();
      await page.getByText('GET /apis/api.notes.example.com/v1/count').waitFor();
      await page.getByRole('link', { name: 'notes.notes.example.com:view' }).waitFor();
      await page.getByRole('cell', { name: 'get, list, watch' }).waitFor();
      await expectAccessible(page);
      await drawPicture(page, 'console-plugin');
      await page.getByText('Settings notes belongs to you').waitFor();
      await page.getByRole('definition').getByRole('link', { name: 'Settings notes' }).first().click();
      await page.getByRole('heading', { name: 'notes', exact: true }).waitFor();
      await page.goBack();
      await page.getByRole('button', { name: 'Disable Notes' }).click();
      const dialog = page.getByRole('dialog', { name: 'Disable Notes?' });
      await dialog.waitFor();
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Disable' }).click();
      await page.getByText('Nothing: it is not started.').waitFor();
      await page.getByRole('button', { name: 'Enable Notes' }).waitFor();
      await expectAccessible(page);
    });
  });

  test('a user is created and given a role: who may do what says so, and the user may do exactly that', async () => {
    const password = 'four dry socks';
    await site.visit('/access', async (page) => {
      await page.getByRole('heading', { name: 'Users', exact: true }).waitFor();
      await page.keyboard.press('n');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Username').fill('ben');
      await dialog.getByLabel('Name', { exact: true }).fill('Ben Birk');
      await dialog.getByLabel('E-mail').fill('ben@example.com');
      await dialog.getByLabel('Password').fill('password');
      await page.keyboard.press('Enter');
      await dialog.locator('[aria-invalid=true]').and(dialog.getByLabel('Password')).waitFor();
      await expectAccessible(page);
      await dialog.getByLabel('Password').fill(password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Ben Birk' }).waitFor();
      await page.getByRole('row', { name: /^User Whole system/ }).waitFor();
      await page.getByRole('link', { name: 'Who may do what' }).click();
      await page.getByRole('button', { name: 'Give a role' }).click();
      await dialog.getByLabel('Username, or name of the group').fill('ben');
      await dialog.getByLabel('ClusterRole').fill('view');
      await dialog.getByLabel('Namespace').fill('default');
      await dialog.getByRole('button', { name: 'Give' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByLabel('User, group or role').fill('ben');
      await page.keyboard.press('Enter');
      const grant = page.getByRole('row', { name: /^ben User default/ });
      await grant.locator('summary').click();
      await grant.getByText('get, list, watch', { exact: true }).first().waitFor();
      await expectAccessible(page);
    });
    await site.visit(
      `${posts}?ns=default`,
      async (page) => {
        await page.getByText(/^\d+ objects$/).waitFor();
        const create = page.getByRole('button', { name: 'New', exact: true });
        await create.and(page.locator('[aria-disabled=true]')).focus();
        await page.getByText('Your roles do not have this rule: create posts.blog.example.com in default').waitFor();
      },
      { user: 'ben', password },
    );
  });

  test('one worker follows the changes of all tabs, and logging out in one is logging out in all', async () => {
    const password = await site.addUser('eva');
    await site.api('POST', postsPath, post('tab-a', { title: 'Before' }));
    await site.api('POST', '/api/v1/namespaces', { metadata: { name: 'private' } });
    await site.api('POST', '/api/v1/namespaces/private/secrets', { metadata: { name: 'tab' } });
    const list = `${posts}?ns=default&f=metadata.name%3Dtab-a`;
    await site.visit(list, async (page, context) => {
      const streams = streamsOf(context);
      const [secret, second] = [await context.newPage(), await context.newPage()];
      await secret.goto(`${site.url}/console/g/core/secrets/private/tab`);
      await second.goto(`${site.url}/console${list}`);
      for (const each of [page, secret, second]) await each.getByText('Live', { exact: true }).waitFor();
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
      await second.getByText('Live', { exact: true }).waitFor();
    });
  });
});
