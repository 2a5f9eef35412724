import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';
import { createPosts, post, postDefinition, postsPath } from './posts.ts';
import { runCommand, runModule, snippetsOf } from './run-snippet.ts';
import { typeYaml } from './yaml-editor.ts';

describeInBrowser('what a list of the console can do', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      ...postDefinition,
      spec: { ...postDefinition.spec, versions: postDefinition.spec.versions.map(withBodyColumn) },
    });
    await createPosts(site, 30);
  });
  afterAll(() => site?.stop());

  const list = '/g/blog.example.com/posts?ns=default';

  test('a view is a command and a module that answer the same, and no secret is in them', async () => {
    await site.api('POST', postsPath, post('quote', { title: "it's", priority: 7 }, { parity: 'odd' }));
    const view = `${list}&f=priority%3E%3D5&f=metadata.name%5E%3Dpost-&f=metadata.name!%3Dit%27s%20%22%24(id)%22&l=parity=odd&sort=priority,desc&sort=metadata.name`;
    await site.visit(view, async (page) => {
      await page.getByRole('link', { name: 'post-029' }).waitFor();
      await page.getByRole('button', { name: 'As code' }).click();
      await page.getByRole('dialog', { name: 'This view as code' }).waitFor();
      await expectAccessible(page);
      const fields = ['labelSelector=parity=odd', 'sort=priority,desc', 'sort=metadata.name'];
      const { curl, sdk } = await snippetsOf(page);
      for (const field of fields) expect(curl).toContain(field);
      expect(`${curl}${sdk}`).not.toContain(site.token);
      const expected = Array.from({ length: 13 }, (_, at) => `post-0${String(29 - 2 * at).padStart(2, '0')}`);
      const answer = JSON.parse(await runCommand(curl, site.token)) as { items: { metadata: { name: string } }[] };
      expect(answer.items.map(({ metadata }) => metadata.name)).toEqual(expected);
      const names = 'console.log(JSON.stringify(items.map(({ metadata }) => metadata.name)));';
      const printed = await runModule(`${sdk}\n${names}`, site.token);
      expect(JSON.parse(printed.split('\n').at(-2)!)).toEqual(expected);
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: 'post-029' }).click();
      await page.getByRole('heading', { name: 'post-029' }).waitFor();
      await page.getByRole('button', { name: 'As code' }).click();
      const object = await snippetsOf(page);
      const stored = await site.api('GET', `${postsPath}/post-029`);
      expect(JSON.parse(await runCommand(object.curl, site.token))).toEqual(stored);
      const read = await runModule(`${object.sdk}\nconsole.log(object.metadata.uid);`, site.token);
      expect(read.split('\n').at(-2)).toBe((stored['metadata'] as { uid: string }).uid);
      await page.getByRole('button', { name: 'Copy curl' }).click();
      await page.getByText(/^Copied\.|^The text is selected/).waitFor();
    });
  });

  test('columns and the order are chosen by keys, are in the URL, and can be reset', async () => {
    await site.visit(`${list}&f=metadata.name%5E%3Dpost-`, async (page) => {
      const heads = (): Promise<string[]> => page.getByRole('columnheader').allInnerTexts();
      const headsAre = (expected: string[]): Promise<unknown> =>
        pollUntil(
          async () => (await heads()).slice(1).join() === expected.join(),
          undefined,
          `columns ${expected.join()}`,
        );
      await page.getByRole('link', { name: 'post-000' }).waitFor();
      await headsAre(['Name', 'Title', 'Priority', 'Age']);
      await page.getByRole('button', { name: 'Columns and order' }).click();
      const dialog = page.getByRole('dialog', { name: 'Columns and order' });
      await dialog.getByRole('checkbox', { name: 'Body' }).press('Space');
      await dialog.getByRole('checkbox', { name: 'Age' }).press('Space');
      await dialog.getByRole('button', { name: 'Move Body forward' }).press('Enter');
      await page.keyboard.press('Enter');
      await dialog.getByLabel('Sort by another field, too').selectOption('priority');
      await dialog.getByRole('button', { name: 'Add' }).press('Enter');
      await dialog.getByLabel('Sort by another field, too').selectOption('metadata.name');
      await dialog.getByRole('button', { name: 'Add' }).press('Enter');
      await dialog.getByLabel('Direction of priority').selectOption('descending');
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await headsAre(['Name ▲', 'Body', 'Title', 'Priority ▼']);
      await page.getByRole('row', { name: /post-029 Text of 29 Post 29 29/ }).waitFor();
      const { searchParams } = new URL(page.url());
      expect(searchParams.getAll('sort')).toEqual(['priority,desc', 'metadata.name']);
      await page.reload();
      await headsAre(['Name ▲', 'Body', 'Title', 'Priority ▼']);
      await page.getByRole('button', { name: 'Columns and order' }).click();
      await dialog.getByRole('button', { name: 'As the model has them' }).click();
      await headsAre(['Name', 'Title', 'Priority', 'Age']);
    });
  });

  test('a change of many objects is checked before it is made, can be stopped, and names what failed', async () => {
    await site.api('PATCH', `${postsPath}/post-003`, { metadata: { labels: { team: 'blue' } } });
    await site.visit(`${list}&f=metadata.name%5E%3Dpost-00`, async (page) => {
      await page.getByRole('link', { name: 'post-000' }).waitFor();
      await page.getByRole('checkbox', { name: 'Select all that match' }).click();
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      const dialog = page.getByRole('dialog', { name: 'Change 10 objects' });
      await dialog.getByRole('button', { name: 'Check' }).click();
      await dialog.getByText('A label or an annotation has no key.').waitFor();
      await expectAccessible(page);
      await dialog.getByLabel('Any fields, by a merge patch').check();
      await dialog.getByRole('textbox', { name: 'Merge patch' }).fill('spec: { priority: 5000 }');
      await dialog.getByRole('button', { name: 'Check' }).click();
      await dialog.getByText('10 objects would be refused:').waitFor();
      await dialog.getByText('0 objects will change.').waitFor();
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Back' }).click();
      await typeYaml(page, 'Merge patch', 'spec: { colour: red }');
      await dialog.getByRole('button', { name: 'Check' }).click();
      await dialog.getByText('unknown field "spec.colour" (10 objects)').waitFor();
      await dialog.getByText('0 objects will change. 10 objects are already so.').waitFor();
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Back' }).click();
      await dialog.getByLabel('Labels and annotations').check();
      await dialog.getByLabel('Key').fill('team');
      await dialog.getByLabel('Value').fill('blue');
      const held: (() => void)[] = [];
      await page.route(/dryRun=All/, async (route) => {
        await new Promise<void>((resolve) => {
          held.push(resolve);
        });
        await route.continue();
      });
      await dialog.getByRole('button', { name: 'Check' }).click();
      await pollUntil(() => held.length === 4, undefined, 'four requests at once');
      await dialog.getByRole('button', { name: 'Stop' }).click();
      for (const release of held) release();
      await dialog.getByText(/^Stopped\. [67] objects were not begun\. [34] objects will change/).waitFor();
      await page.unrouteAll();
      await dialog.getByRole('button', { name: 'Back' }).click();
      await dialog.getByRole('button', { name: 'Check' }).click();
      await dialog.getByText('9 objects will change. 1 object is already so.').waitFor();
      // Another object of the same name is not what was selected.
      await site.api('DELETE', `${postsPath}/post-004`);
      await site.api('POST', postsPath, post('post-004', { title: 'Another', priority: 4 }));
      await dialog.getByRole('button', { name: 'Change 9 objects' }).click();
      await dialog.getByText('8 objects changed.').waitFor();
      await dialog.getByText('default/post-004').waitFor();
      await dialog.getByRole('button', { name: 'Try again with these' }).click();
      await dialog.getByText('0 objects changed.').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
    });
    const { total } = await site.api('GET', `${postsPath}?labelSelector=team%3Dblue&page=1&size=1`);
    expect(total).toBe(9);
    expect(await site.api('GET', `${postsPath}/post-004`)).not.toHaveProperty('metadata.labels.team');
  });

  test('objects are exported as a file, whole or without what the server sets, and imported again', async () => {
    await site.visit(`${list}&f=metadata.name%5E%3Dpost-01&sort=priority,desc`, async (page) => {
      const save = async (): Promise<{ name: string; text: string }> => {
        const dialog = page.getByRole('dialog', { name: 'Export objects' });
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          dialog.getByRole('button', { name: 'Export' }).click(),
        ]);
        return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
      };
      await page.getByRole('link', { name: 'post-019' }).waitFor();
      await page.getByRole('checkbox', { name: 'Select post-018' }).click();
      await page.getByRole('checkbox', { name: 'Select post-012' }).click();
      await page.getByRole('button', { name: 'Export' }).click();
      await expectAccessible(page);
      const chosen = await save();
      expect(chosen.name).toBe('posts.blog.example.com.yaml');
      const documents = parseAllDocuments(chosen.text).map((document) => document.toJS() as object);
      const exported = (at: number): object => ({
        apiVersion: 'blog.example.com/v1',
        kind: 'Post',
        metadata: { name: `post-0${at}`, namespace: 'default', labels: { parity: 'even' } },
        spec: { title: `Post ${at}`, body: `Text of ${at}`, priority: at },
      });
      expect(documents).toEqual([exported(12), exported(18)]);
      await page.getByLabel('All that match the filter').check();
      await page.getByLabel('JSON lines').check();
      const all = await save();
      const objects = all.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { metadata: { name: string } });
      expect(objects.map(({ metadata }) => metadata.name)).toEqual(
        Array.from({ length: 10 }, (_, at) => `post-0${19 - at}`),
      );
      await page.getByLabel('Leave out what the server sets').uncheck();
      const stored = await site.api('GET', `${postsPath}/post-019`);
      expect(JSON.parse((await save()).text.split('\n')[0]!)).toEqual(stored);
      await page.keyboard.press('Escape');

      await site.api('DELETE', `${postsPath}/post-018`);
      await site.api('PATCH', `${postsPath}/post-017`, { spec: { title: 'Changed' } });
      await page.getByRole('link', { name: 'Import' }).click();
      const wrong = all.text.replace('"Post 15"', '7');
      await page.getByLabel('Take over fields that others manage').check();
      await page
        .getByLabel('Choose files')
        .setInputFiles({ name: all.name, mimeType: 'application/x-ndjson', buffer: Buffer.from(wrong) });
      await page.getByRole('button', { name: 'Check' }).click();
      const states = page.getByLabel('Show');
      await states.waitFor();
      expect(await states.getByRole('option').allInnerTexts()).toEqual([
        'All 10',
        '7: is already so',
        '1: will be created',
        '1: will change',
        '1: refused',
      ]);
      await states.selectOption('failed');
      await page.getByText('spec.title').waitFor();
      expect(await page.locator('.applied > li').count()).toBe(1);
      await expectAccessible(page);
      const held: (() => void)[] = [];
      await page.route(/post-017\?(?!.*dryRun)/, async (route) => {
        await new Promise<void>((resolve) => {
          held.push(resolve);
        });
        await route.continue();
      });
      await page.getByRole('button', { name: 'Apply 10 objects' }).click();
      await pollUntil(() => held.length === 1, undefined, 'the third object');
      await page.getByRole('button', { name: 'Stop' }).click();
      held[0]!();
      await page.getByText('Stopped after 3 of 10.').waitFor();
      await page.getByRole('button', { name: 'Apply 7 objects' }).click();
      await page.getByRole('button', { name: 'Apply 1 object' }).waitFor();
    });
    expect(await site.api('GET', `${postsPath}/post-017`)).toMatchObject({ spec: { title: 'Post 17' } });
    expect(await site.api('GET', `${postsPath}/post-018`)).toMatchObject({ spec: { title: 'Post 18' } });
  });

  test('an object shows its owners up to the top, and its dependents as far down as one asks', async () => {
    const create = async (name: string, owner?: Record<string, unknown>): Promise<Record<string, unknown>> => {
      const object = post(name, { title: name }) as { metadata: object };
      const { uid = '', name: ownerName = '' } = (owner?.['metadata'] ?? {}) as { uid?: string; name?: string };
      const reference = { apiVersion: 'blog.example.com/v1', kind: 'Post', name: ownerName, uid };
      const ownerReferences = owner === undefined ? [] : [reference];
      return site.api('POST', postsPath, { ...object, metadata: { ...object.metadata, ownerReferences } });
    };
    const top = await create('tree-top');
    const middle = await create('tree-middle', top);
    for (const at of [0, 1]) await create(`tree-leaf-${at}`, middle);
    await site.visit('/g/blog.example.com/posts/default/tree-leaf-0', async (page) => {
      const section = page.getByRole('region', { name: 'Owners and dependents' });
      await section.getByRole('link', { name: 'Post tree-top' }).waitFor();
      await section.getByRole('button', { name: 'Find dependents of tree-leaf-0' }).click();
      await section.getByText('No object that you may list names it as its owner.').waitFor();
      await section.getByRole('link', { name: 'Post tree-top' }).click();
      await page.getByRole('heading', { name: 'tree-top' }).waitFor();
      await section.getByText('No object owns this one.').waitFor();
      await section.getByRole('button', { name: 'Find dependents of tree-top' }).press('Enter');
      await section.getByRole('button', { name: 'Find dependents of tree-middle' }).press('Enter');
      await section.getByRole('link', { name: 'tree-leaf-1' }).waitFor();
      await expectAccessible(page);
      await section.getByRole('link', { name: 'Post: 2' }).click();
      await page.getByText('2 objects', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'tree-leaf-0' }).waitFor();
    });
  });

  test('a view is saved for everybody, replaced and deleted by who may, and one of a plugin is read', async () => {
    const views = '/apis/console.svc.run/v1alpha1/savedviews';
    await site.api('POST', views, {
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'SavedView',
      metadata: { name: 'shipped' },
      spec: {
        title: 'Urgent',
        description: 'By a plugin',
        model: 'posts.blog.example.com',
        namespace: 'default',
        fields: ['priority>=25', '=no condition'],
        sort: ['priority,desc'],
        columns: ['Name', 'Priority'],
      },
    });
    await site.visit(`${list}&f=priority%3C3&l=parity%3Deven&sort=priority,desc`, async (page) => {
      const dialog = page.getByRole('dialog', { name: 'Views of Post' });
      const open = (): Promise<void> => page.getByRole('button', { name: 'Views', exact: true }).click();
      await page.getByRole('link', { name: 'post-002' }).waitFor();
      await open();
      await dialog.getByText('By a plugin').waitFor();
      await dialog.getByLabel('Title').fill('Least');
      await dialog.getByLabel('Title').press('Enter');
      await dialog.getByText('Saved as Least. Everybody can see it.').waitFor();
      await dialog.getByRole('link', { name: 'Least' }).waitFor();
      await expectAccessible(page);
      await dialog.getByRole('link', { name: 'Urgent' }).click();
      await page.getByText('5 objects', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'post-029' }).waitFor();
      expect((await page.getByRole('columnheader').allInnerTexts()).slice(1)).toEqual(['Name', 'Priority ▼']);
      await open();
      await dialog.getByRole('link', { name: 'Least' }).click();
      await page.getByText('2 objects', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Remove the condition parity=even' }).click();
      await page.getByText('3 objects', { exact: true }).waitFor();
      await open();
      await dialog.getByLabel('Title').fill('Least');
      await dialog.getByRole('button', { name: 'Replace' }).click();
      await dialog.getByText('Saved as Least. Everybody can see it.').waitFor();
      await dialog.getByRole('button', { name: 'Delete the view Urgent' }).click();
      await dialog.getByText('Urgent is deleted.').waitFor();
      await dialog.getByRole('link', { name: 'Urgent' }).waitFor({ state: 'detached' });
    });
    const { items } = (await site.api('GET', views)) as { items: { spec: object }[] };
    expect(items.map(({ spec }) => spec)).toEqual([
      {
        title: 'Least',
        model: 'posts.blog.example.com',
        namespace: 'default',
        fields: ['priority<3'],
        labels: [],
        sort: ['priority,desc'],
        columns: [],
      },
    ]);
    const password = await site.addUser('viewer');
    await site.letView('viewer');
    await site.visit(
      list,
      async (page) => {
        await page.getByRole('button', { name: 'Views', exact: true }).click();
        const dialog = page.getByRole('dialog', { name: 'Views of Post' });
        await dialog.getByRole('link', { name: 'Least' }).waitFor();
        await dialog.getByLabel('Title').fill('Mine');
        await dialog.getByText('create savedviews.console.svc.run').waitFor({ state: 'attached' });
        expect(await dialog.getByRole('button', { name: 'Save' }).getAttribute('aria-disabled')).toBe('true');
      },
      { user: 'viewer', password },
    );
  });
});

/** A column that is shown only if somebody wants it. */
function withBodyColumn(version: (typeof postDefinition.spec.versions)[number]): object {
  const [title, ...others] = version.additionalPrinterColumns;
  const body = { name: 'Body', type: 'string', jsonPath: '.spec.body', priority: 1 };
  return { ...version, additionalPrinterColumns: [title, body, ...others] };
}
