import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';
import { post, postDefinition, postsPath } from './posts.ts';
import { replaceInYaml, typeYaml, yamlEditor, yamlOf } from './yaml-editor.ts';

describeInBrowser('an object in the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
  });
  afterAll(() => site?.stop());

  const pathOf = (name: string): string => `/g/blog.example.com/posts/default/${name}`;

  test('is created from YAML, and each fault of the draft is named', async () => {
    await site.visit('/g/blog.example.com/posts?ns=default', async (page) => {
      await page.getByText('There are no objects.').waitFor();
      await page.keyboard.press('n');
      await yamlEditor(page, 'New Post').waitFor();
      expect(await yamlOf(page, 'New Post')).toContain('namespace: default');
      await expectAccessible(page);
      await typeYaml(
        page,
        'New Post',
        'apiVersion: blog.example.com/v1\nkind: Post\nmetadata: { name: by-hand }\nspec: { title: "", priority: 5000 }\n',
      );
      await page.getByRole('button', { name: 'Create' }).click();
      const refusal = page.getByRole('alert');
      await refusal.getByText('spec.title').waitFor();
      await refusal.getByText('spec.priority').waitFor();
      await expectAccessible(page);
      await typeYaml(page, 'New Post', 'kind: [');
      await page.keyboard.press('Control+s');
      await refusal.getByText('The text is not YAML').waitFor();
      await typeYaml(
        page,
        'New Post',
        'apiVersion: blog.example.com/v1\nkind: Post\nmetadata: { name: by-hand }\nspec: { title: Mine }\n',
      );
      await page.keyboard.press('Control+s');
      await page.getByRole('heading', { name: 'by-hand' }).waitFor();
      await page.getByText('There are no events of this object.').waitFor();
      await expectAccessible(page);
    });
    expect(await site.api('GET', `${postsPath}/by-hand`)).toMatchObject({ spec: { title: 'Mine' } });
  });

  test('shows its conditions, its owner and its events as they come', async () => {
    const owner = await site.api('POST', postsPath, post('owner', { title: 'Owner' }));
    const { uid } = owner['metadata'] as { uid: string };
    const owned = post('owned', { title: 'Owned' }, { lang: 'en' }) as { metadata: object };
    const created = await site.api('POST', postsPath, {
      ...owned,
      metadata: {
        ...owned.metadata,
        ownerReferences: [{ apiVersion: 'blog.example.com/v1', kind: 'Post', name: 'owner', uid }],
      },
    });
    await site.visit(pathOf('owned'), async (page) => {
      await page.getByText('lang=en').waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      await page
        .getByRole('definition')
        .filter({ hasText: /^Owned$/ })
        .waitFor();
      await site.api('PATCH', `${postsPath}/owned/status`, {
        status: { conditions: [{ type: 'Ready', status: 'False', reason: 'NoReader', message: 'Nobody reads it.' }] },
      });
      await page.getByRole('cell', { name: 'Nobody reads it.' }).waitFor();
      await page.getByText('There are no events of this object.').waitFor();
      await site.api('POST', '/api/v1/namespaces/default/events', {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'owned-1' },
        involvedObject: {
          apiVersion: 'blog.example.com/v1',
          kind: 'Post',
          namespace: 'default',
          name: 'owned',
          uid: (created['metadata'] as { uid: string }).uid,
        },
        type: 'Warning',
        reason: 'Unread',
        message: 'It was never read.',
        lastTimestamp: '2026-01-31T09:30:00Z',
      });
      await page.getByRole('cell', { name: 'It was never read.' }).waitFor();
      await expectAccessible(page);
      await page.getByRole('link', { name: 'Post owner' }).click();
      await page.getByRole('heading', { name: 'owner', exact: true }).waitFor();
    });
  });

  test('shows what a Secret has, and not its values', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'key' },
      stringData: { password: 'opensesame' },
    };
    await site.api('POST', '/api/v1/namespaces/default/secrets', secret);
    await site.visit('/g/core/secrets/default/key', async (page) => {
      await page.getByText('password', { exact: true }).waitFor();
      await page.getByText('hidden', { exact: true }).waitFor();
      const text = await page.locator('main').innerText();
      expect(text).not.toContain(Buffer.from('opensesame').toString('base64'));
    });
  });

  test('asks before the page is left with changes, and says what the server dropped', async () => {
    await site.api('POST', postsPath, post('unsaved', { title: 'Base' }));
    await site.visit(`${pathOf('unsaved')}?tab=yaml`, async (page) => {
      await yamlEditor(page, 'YAML of unsaved').click();
      // The search comes with its first key.
      await page.keyboard.press('Control+f');
      const find = page.getByLabel('Find', { exact: true });
      await find.pressSequentially('Base');
      await page.keyboard.press('Enter');
      await page.locator('.cm-searchMatch-selected', { hasText: 'Base' }).waitFor();
      await expectAccessible(page);
      await find.press('Escape');
      await find.waitFor({ state: 'detached' });
      await replaceInYaml(page, 'YAML of unsaved', 'title: Base', 'title: Mine\n  titel: Typo');
      const questions: string[] = [];
      page.once('dialog', (dialog) => {
        questions.push(dialog.message());
        void dialog.dismiss();
      });
      await page.getByRole('navigation', { name: 'Models' }).getByRole('link', { name: 'Secret' }).click();
      expect(questions).toEqual(['You have changes that are not saved. Leave the page?']);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      await page.getByRole('alert').getByText('spec.titel').waitFor();
      await page.getByRole('navigation', { name: 'Models' }).getByRole('link', { name: 'Secret' }).click();
      await page.getByRole('heading', { name: 'Secret' }).waitFor();
    });
  });

  test('is deleted after a question, and a page of it says that it is gone', async () => {
    await site.api('POST', postsPath, post('unwanted', { title: 'Base' }));
    await site.visit(pathOf('unwanted'), async (page) => {
      await page.getByRole('button', { name: 'Delete' }).click();
      const dialog = page.getByRole('dialog', { name: 'Delete unwanted?' });
      await dialog.waitFor();
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page.getByText('This object does not exist, or it was deleted.').waitFor();
      await expectAccessible(page);
    });
  });

  test('what it holds is text, whatever it looks like', async () => {
    const hostile = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
    await site.api('POST', postsPath, {
      ...post('hostile', { title: hostile, body: hostile }),
      metadata: { name: 'hostile', annotations: { 'example.com/note': hostile } },
    });
    await site.visit(pathOf('hostile'), async (page) => {
      await page.getByText(hostile).first().waitFor();
      await page.getByRole('link', { name: 'YAML' }).click();
      await yamlEditor(page, 'YAML of hostile').getByText('onerror').first().waitFor();
      await page.getByRole('link', { name: 'Post', exact: true }).last().click();
      await page.getByRole('gridcell', { name: hostile }).waitFor();
      expect(await page.evaluate('window.broken')).toBeUndefined();
    });
  });

  test('the editor is a part of its own, of at most 150 kB', async () => {
    const names = (await readdir(join(site.dist, 'assets'))).filter((name) => /^(?:edit|yaml).*\.js\.gz$/.test(name));
    let total = 0;
    for (const name of names) total += (await stat(join(site.dist, 'assets', name))).size;
    expect(total).toBeGreaterThan(80_000);
    expect(total).toBeLessThanOrEqual(150_000);
  });
});
