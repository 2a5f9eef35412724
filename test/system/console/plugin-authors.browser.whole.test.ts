import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { consolePageType } from '../../../pkg/apis/index.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { startPluginTest, type PluginTest } from '../../../pkg/testenv/index.ts';
import { Comment } from '../../../config/samples/plugins/blog/models.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';

const plugins = '/apis/plugin.svc.run/v1alpha1/plugins';
const sample = fileURLToPath(new URL('../../../config/samples/plugins/blog', import.meta.url));

describeInBrowser('pages of plugins, for their authors', () => {
  let blog: PluginTest;
  let browser: Browser;
  let site: ConsoleSite;
  beforeAll(async () => {
    [blog, browser, site] = await Promise.all([
      startPluginTest({ folder: sample }),
      startBrowser(),
      ConsoleSite.start(['--svc.plugins.interval=50ms']),
    ]);
  });
  afterAll(async () => {
    await site?.stop();
    await browser?.close();
    await blog?.stop();
  });

  test('the page of the sample plugin, in the test kit', async () => {
    const { client } = blog;
    const comment = (name: string): Comment => ({
      apiVersion: 'blog.example.com/v1',
      kind: 'Comment',
      metadata: { name },
      spec: { post: 'welcome', author: 'ann', content: `Words of ${name}` },
    });
    await client.create(Comment, comment('first'));
    await client.create(Comment, comment('second'));
    const page = await browser.newPage();
    page.setDefaultTimeout(30_000);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(await blog.urlOf('blog-comments'));
    const frame = page.frameLocator('iframe');
    const buttonOf = (name: string, action: string) =>
      frame.getByRole('listitem').filter({ hasText: name }).getByRole('button', { name: action });
    await buttonOf('first', 'Approve').click();
    await frame.getByText('Words of first').waitFor({ state: 'hidden' });
    expect((await client.get(Comment, { namespace: '', name: 'first' })).spec.approved).toBe(true);

    // The server applies the rules of the page.
    const key = { namespace: '', name: 'blog-comments' };
    const { spec } = await client.get(consolePageType, key);
    const restrict = (verbs: string[]): Promise<unknown> => {
      const rules = [{ apiGroups: ['blog.example.com'], resources: ['comments'], verbs }];
      return client.patch(consolePageType, key, { type: 'merge', patch: { spec: { rules } } });
    };
    await restrict(['list', 'watch']);
    await buttonOf('second', 'Delete').click();
    await frame.getByText('the rules of the page "blog-comments" do not allow it').waitFor();
    await restrict(spec.rules!.flatMap(({ verbs }) => verbs));
    await buttonOf('second', 'Delete').click();
    await frame.getByText('No comment waits.').waitFor();
    expect((await client.list(Comment)).items.map(({ metadata }) => metadata.name)).toEqual(['first']);

    // Endpoints of the plugin run, too.
    const stats = await blog.env.request('/apis/console.api.blog.example.com/v1/stats');
    expect([stats.status, await stats.json()]).toEqual([200, expect.objectContaining({ commentsWaiting: 0 })]);
  });

  const draft = (version: number): string => `
import { openPage } from '@svc/client/page';
async function main(): Promise<void> {
  const { setUnsaved } = await openPage();
  const label = document.createElement('label');
  const area = document.createElement('textarea');
  area.addEventListener('input', () => setUnsaved(area.value !== ''));
  label.append('Draft of version ${version} ', area);
  document.querySelector('#root')?.append(label);
}
void main();
`;

  test('a page says that its plugin stopped, keeps what was typed, and shows a changed file in its place', async () => {
    await addPlugin('draft', {
      'pages/draft.ts': draft(1),
      'presets/page.yaml':
        'apiVersion: console.svc.run/v1alpha1\nkind: ConsolePage\nmetadata: { name: draft }\nspec: { title: Draft, frame: { file: draft.html } }\n',
    });
    await site.visit('/p/draft', async (page) => {
      const frame = page.frameLocator('iframe[title="Draft"]');
      const area = frame.getByRole('textbox');
      await frame.getByText('Draft of version 1').waitFor();
      await area.fill('What I have typed');

      await enable('draft', false);
      await page.getByText('The plugin of this page has stopped.').waitFor();
      expect(await area.inputValue()).toBe('What I have typed');
      await enable('draft', true);
      await page.getByText('The plugin of this page has stopped.').waitFor({ state: 'hidden' });
      expect(await area.inputValue()).toBe('What I have typed');

      await site.addPlugin('draft', { 'pages/draft.ts': draft(2) });
      await page.getByText('There is a newer version of this page.').waitFor();
      expect(await area.inputValue()).toBe('What I have typed');
      await page.getByRole('button', { name: 'Show it, and lose what is not saved' }).click();
      await frame.getByText('Draft of version 2').waitFor();

      await site.addPlugin('draft', { 'pages/draft.ts': draft(3) });
      await frame.getByText('Draft of version 3').waitFor();
    });
  });

  test('a page that hangs is closed with a sentence, and stops neither the console nor another page', async () => {
    const part = (name: string) => ({
      'presets/page.yaml': JSON.stringify({
        apiVersion: 'console.svc.run/v1alpha1',
        kind: 'ConsolePage',
        metadata: { name },
        spec: { title: name, place: 'overview', frame: { file: 'page.html' } },
      }),
      'pages/page.ts': `
        import { openPage } from '@svc/client/page';
        const button = document.createElement('button');
        const count = document.createElement('output');
        button.textContent = 'Go';
        button.onclick = () => {
          if (${name === 'busy'}) for (;;);
          count.value = String(Number(count.value) + 1);
        };
        document.querySelector('#root')?.append(button, count);
        void openPage();
      `,
    });
    await Promise.all(['busy', 'calm'].map((name) => addPlugin(name, part(name))));
    await site.visit('/', async (page) => {
      const [busy, calm] = ['busy', 'calm'].map((name) => page.frameLocator(`iframe[title="${name}"]`));
      const go = busy!.getByRole('button');
      await calm!.getByRole('button').click();
      await calm!.getByText('1').waitFor();
      // Its click never returns.
      await go.evaluate(`void setTimeout(() => document.querySelector('button').click())`);

      const closed = page.getByText('The page was closed, because it did not answer any more.');
      await calm!.getByRole('button').click();
      await calm!.getByText('2').waitFor();
      await page.getByRole('button', { name: 'Ctrl K' }).click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await closed.count()).toBe(0);
      await closed.waitFor();
      expect(await closed.count()).toBe(1);
      await calm!.getByRole('button').click();
      await calm!.getByText('3').waitFor();
      await page.getByRole('button', { name: 'Open it again' }).click();
      await go.waitFor();
      await expectAccessible(page);
    });
  });

  /** A plugin of pages alone, once it is started. */
  async function addPlugin(name: string, files: Readonly<Record<string, string>>): Promise<void> {
    await site.addPlugin(name, {
      'plugin.yaml': `apiVersion: plugin.svc.run/v1alpha1\nkind: Plugin\nmetadata: { name: ${name} }\nspec: { version: 1.0.0, enabled: true }\n`,
      'index.ts': `import { definePlugin } from '@svc/sdk'; export default definePlugin({});`,
      ...files,
    });
    await untilPhase(name, 'Started');
  }

  async function enable(name: string, enabled: boolean): Promise<void> {
    await site.api('PATCH', `${plugins}/${name}`, { spec: { enabled } });
    await untilPhase(name, enabled ? 'Started' : 'Disabled');
  }

  function untilPhase(name: string, phase: string): Promise<void> {
    return pollUntil(async () => {
      const { status } = await site.api('GET', `${plugins}/${name}`).catch((): Record<string, unknown> => ({}));
      return (status as { phase?: string } | undefined)?.phase === phase;
    });
  }
});
