import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { hasBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, drawPicture, expectAccessible } from './console-site.ts';
import { post, postDefinition, postsPath } from './posts.ts';

if (!hasBrowser) test.skip('WARNING: OBJECTS IN THE CONSOLE ARE NOT TESTED: there is no chromium', () => undefined);

(hasBrowser ? describe : describe.skip)('an object in the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
  });
  afterAll(() => site?.stop());

  const pathOf = (name: string): string => `/g/blog.example.com/posts/default/${name}`;
  const editor = (page: Page, name: string) => page.getByRole('textbox', { name: `YAML of ${name}` });
  /** Replaces a text in the editor, as a person does: by selecting everything and typing. */
  async function replace(page: Page, name: string, from: string, to: string): Promise<void> {
    const field = editor(page, name);
    const text = (await field.locator('.cm-line').allInnerTexts()).map((line) => line.replace(/\n$/, '')).join('\n');
    expect(text).toContain(from);
    await field.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text.replace(from, to));
  }

  test('is created from YAML, and each fault of the draft is named', async () => {
    await site.visit('/g/blog.example.com/posts?ns=default', async (page) => {
      await page.getByText('There are no objects.').waitFor();
      await page.keyboard.press('n');
      const field = page.getByRole('textbox', { name: 'New Post' });
      await field.waitFor();
      expect((await field.innerText()).replaceAll('\n\n', '\n')).toContain('namespace: default');
      await expectAccessible(page);
      await field.click();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText(
        'apiVersion: blog.example.com/v1\nkind: Post\nmetadata: { name: by-hand }\nspec: { title: "", priority: 5000 }\n',
      );
      await page.getByRole('button', { name: 'Create' }).click();
      const refusal = page.getByRole('alert');
      await refusal.getByText('spec.title').waitFor();
      await refusal.getByText('spec.priority').waitFor();
      await expectAccessible(page);
      await field.click();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText('kind: [');
      await page.keyboard.press('Control+s');
      await refusal.getByText('The text is not YAML').waitFor();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText(
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

  test('is edited as YAML, compared, and saved', async () => {
    await site.api('POST', postsPath, post('edited', { title: 'Before', body: 'Text' }));
    await site.visit(pathOf('edited'), async (page) => {
      await page.getByRole('heading', { name: 'edited' }).waitFor();
      await page.keyboard.press('e');
      await editor(page, 'edited').waitFor();
      await page.getByText('Nothing is changed.').waitFor();
      await replace(page, 'edited', 'title: Before', 'title: After');
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
      await editor(page, 'edited').getByText('Theirs').waitFor();
    });
    expect(await site.api('GET', `${postsPath}/edited`)).toMatchObject({ spec: { title: 'After', body: 'Theirs' } });
  });

  test('is merged by field when two people edit it, and a conflict is decided by its value', async () => {
    await site.api('POST', postsPath, post('shared', { title: 'Base', body: 'Base', priority: 1 }));
    await site.visit(`${pathOf('shared')}?tab=yaml`, async (page) => {
      await editor(page, 'shared').waitFor();
      await replace(page, 'shared', 'title: Base', 'title: Mine');
      await site.api('PATCH', `${postsPath}/shared`, { spec: { title: 'Theirs', body: 'Their body', priority: 7 } });
      await page.getByText('Somebody else saved this object while you were editing.').waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Merge their changes into mine' }).click();
      await page.getByRole('button', { name: 'Mine: spec.title' }).waitFor();
      await expectAccessible(page);
      await drawPicture(page, 'console-conflict');
      await page.getByRole('button', { name: 'Mine: spec.title' }).click();
      await editor(page, 'shared').getByText('Their body').waitFor();
      await page.keyboard.press('Control+s');
      await page.getByText('Saved.').waitFor();
    });
    expect(await site.api('GET', `${postsPath}/shared`)).toMatchObject({
      spec: { title: 'Mine', body: 'Their body', priority: 7 },
    });
  });

  test('asks before the page is left with changes, and says what the server dropped', async () => {
    await site.api('POST', postsPath, post('unsaved', { title: 'Base' }));
    await site.visit(`${pathOf('unsaved')}?tab=yaml`, async (page) => {
      await editor(page, 'unsaved').waitFor();
      await replace(page, 'unsaved', 'title: Base', 'title: Mine\n  titel: Typo');
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

  test('comes with others from files, which are checked and compared before they are applied', async () => {
    await site.api('POST', postsPath, post('applied', { title: 'Before' }));
    const definition = { ...postDefinition, metadata: { name: 'notes.blog.example.com' } };
    const names = { plural: 'notes', singular: 'note', kind: 'Note' };
    const files = [
      [post('applied', { title: 'After' }), { ...post('fresh', { title: 'Fresh' }), kind: 'Nothing' }],
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
          buffer: Buffer.from(objects.map((each) => JSON.stringify(each)).join('\n---\n')),
        })),
      );
      await page.getByRole('button', { name: 'Check' }).click();
      const results = page.locator('.applied > li');
      await results.first().waitFor();
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
      await editor(page, 'hostile').getByText('onerror').first().waitFor();
      await page.getByRole('link', { name: 'Post', exact: true }).last().click();
      await page.getByRole('gridcell', { name: hostile }).waitFor();
      expect(await page.evaluate('window.broken')).toBeUndefined();
    });
  });

  test('the editor is a part of its own, of at most 170 kB', async () => {
    const names = (await readdir(join(site.dist, 'assets'))).filter((name) => /^(?:edit|yaml).*\.js\.gz$/.test(name));
    let total = 0;
    for (const name of names) total += (await stat(join(site.dist, 'assets', name))).size;
    expect(total).toBeGreaterThan(80_000);
    expect(total).toBeLessThanOrEqual(170_000);
  });
});
