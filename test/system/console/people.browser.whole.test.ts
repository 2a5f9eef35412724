import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { accessibilityFaults } from '../../../pkg/access/pages/pagetest/browser.ts';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';
import { notesPlugin } from './plugins.ts';
import { createPosts, postDefinition, postsPath } from './posts.ts';
import { runCommand, runModule, snippetsOf } from './run-snippet.ts';
import { replaceInYaml, typeYaml, yamlEditor } from './yaml-editor.ts';

const posts = '/g/blog.example.com/posts';
const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** The console as people use it who touch, use keys alone, see little, or wait long. */
describeInBrowser('people in the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.addPlugin('notes', notesPlugin);
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
    await createPosts(site, 30);
  });
  afterAll(() => site?.stop());

  const phone = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

  test('on a phone: the navigation, a list, an object and its form are used by touch, and nothing is too small or covered', async () => {
    await site.visit(
      `${posts}?ns=default`,
      async (page) => {
        const navigation = page.getByRole('navigation', { name: 'Models' });
        const menu = page.getByRole('button', { name: 'Menu' });
        await page.getByRole('link', { name: 'post-003' }).waitFor();
        await expectTouchable(page);
        await menu.tap();
        await expectTouchable(page);
        // Also the page that is shown already.
        await navigation.getByRole('link', { name: 'Post', exact: true }).tap();
        await navigation.waitFor({ state: 'hidden' });
        await menu.tap();
        await navigation.getByRole('link', { name: 'Overview' }).tap();
        await page.getByRole('heading', { name: 'Overview' }).waitFor();
        await expectTouchable(page);
        await menu.tap();
        await navigation.getByRole('link', { name: 'Post', exact: true }).tap();
        await page.getByRole('checkbox', { name: 'Select post-004' }).tap();
        await page.getByText('1 selected').waitFor();
        await expectTouchable(page);
        await page.getByRole('link', { name: 'post-003' }).tap();
        await page.getByRole('heading', { name: 'post-003' }).waitFor();
        await expectTouchable(page);
        await page.getByRole('link', { name: 'Form', exact: true }).tap();
        await page.getByLabel('title', { exact: true }).tap();
        await page.keyboard.press('Control+a');
        await page.keyboard.type('Tapped');
        await page.getByText('The server would accept this.').waitFor();
        await expectTouchable(page);
        await page.getByRole('button', { name: 'Save' }).tap();
        await page.getByText('Saved.').waitFor();
        await page.getByRole('button', { name: 'Search and commands' }).tap();
        await page.getByRole('menuitem', { name: 'Events warnings' }).tap();
        await page.getByRole('heading', { name: 'Events' }).waitFor();
        await expectTouchable(page);
        // There is no room for form and YAML side by side.
        await page.goto(`${site.url}/console${posts}/new?ns=default`);
        const tab = page.getByRole('link', { name: 'Form', exact: true });
        await tab.waitFor();
        expect(await tab.getAttribute('aria-current')).toBe('page');
      },
      { device: phone },
    );
    expect(await site.api('GET', `${postsPath}/post-003`)).toMatchObject({ spec: { title: 'Tapped' } });
  });

  test('the keyboard alone does all from the login to a deletion, and the focus is never lost', async () => {
    await site.visit(
      '/',
      async (page) => {
        const press = async (keys: string): Promise<void> => {
          await page.keyboard.press(keys);
          await expectFocus(page);
        };
        const tabTo = async (target: Locator, keys = 'Tab'): Promise<void> => {
          await target.waitFor();
          for (let presses = 0; presses < 80; presses += 1) {
            if ((await target.and(page.locator(':focus')).count()) > 0) return;
            await press(keys);
          }
          throw new Error(`${keys} does not lead to ${String(target)}`);
        };
        const dialog = page.getByRole('dialog');

        await page.context().clearCookies();
        await page.reload();
        // The login waits for a name.
        await page.getByLabel('Username').and(page.locator(':focus')).waitFor();
        await page.keyboard.type('admin');
        await press('Tab');
        await page.keyboard.type('wrong');
        await press('Enter');
        await page.getByRole('alert').waitFor();
        await expectFocus(page);
        await page.keyboard.press('Control+a');
        await page.keyboard.type(await site.adminPassword());
        await press('Enter');
        await page.getByRole('heading', { name: 'Overview' }).waitFor();
        await expectFocus(page);

        // Whoever types before the palette is there does not go elsewhere.
        let arrive: () => void = () => undefined;
        const arrived = new Promise<void>((resolve) => {
          arrive = resolve;
        });
        await page.route('**/assets/palette-*.js', async (route) => {
          await arrived;
          await route.continue();
        });
        await press('Control+k');
        await page.keyboard.type('ge');
        expect(new URL(page.url()).pathname).toBe('/console/');
        arrive();
        await dialog.waitFor();
        await page.keyboard.type('go to post');
        await page.getByRole('menuitem', { name: 'Go to Post' }).waitFor();
        await press('Enter');
        await page.getByRole('heading', { name: 'Post', exact: true }).waitFor();
        await expectFocus(page);
        await page.getByRole('link', { name: 'post-000' }).waitFor();

        // An order by a column does not throw the person out of the table.
        await tabTo(page.getByRole('button', { name: 'Priority' }));
        await press('Enter');
        await press('Enter');
        await page
          .getByRole('columnheader', { name: 'Priority' })
          .and(page.locator('[aria-sort=descending]'))
          .waitFor();
        await page.getByRole('row').nth(1).getByRole('link', { name: 'post-029' }).waitFor();
        await expectFocus(page);
        await page.getByRole('button', { name: 'Priority' }).and(page.locator(':focus')).waitFor();

        await tabTo(page.getByRole('link', { name: 'post-029' }));
        await press('x');
        await press('j');
        await press('x');
        await page.getByText('2 selected').waitFor();
        await tabTo(
          page.getByRole('region', { name: '2 selected' }).getByRole('button', { name: 'Delete' }),
          'Shift+Tab',
        );
        await press('Enter');
        await page.getByRole('dialog', { name: 'Delete 2 objects?' }).waitFor();
        await tabTo(dialog.getByRole('button', { name: 'Delete' }));
        await press('Enter');
        await dialog.getByText('2 objects deleted.').waitFor();
        await expectFocus(page);
        await tabTo(dialog.getByRole('button', { name: 'Close' }));
        await press('Enter');
        await dialog.waitFor({ state: 'detached' });
        await expectFocus(page);

        await press('n');
        const form = page.getByRole('group', { name: 'Form', exact: true });
        await tabTo(form.getByRole('group', { name: 'metadata', exact: true }).getByLabel('name', { exact: true }));
        await page.keyboard.type('by-keys');
        await tabTo(form.getByRole('group', { name: 'spec', exact: true }).getByLabel('title', { exact: true }));
        await page.keyboard.type('By keys');
        await press('Control+s');
        await page.getByRole('heading', { name: 'by-keys' }).waitFor();
        await expectFocus(page);

        await press('e');
        await tabTo(yamlEditor(page, 'YAML of by-keys'));
        await page.keyboard.press('Control+End');
        await page.keyboard.type('  body: Typed');
        await page.getByText('The server would accept this.').waitFor();
        await tabTo(page.getByRole('button', { name: 'Review changes' }), 'Shift+Tab');
        await press('Enter');
        await page.locator('.difference').getByText('Typed').waitFor();
        await tabTo(page.getByRole('button', { name: 'Save' }), 'Shift+Tab');
        await press('Enter');
        await page.getByText('Saved.').waitFor();
        await expectFocus(page);
        expect(await site.api('GET', `${postsPath}/by-keys`)).toMatchObject({ spec: { body: 'Typed' } });

        await tabTo(page.getByRole('button', { name: 'Delete' }), 'Shift+Tab');
        await press('Enter');
        await tabTo(dialog.getByRole('button', { name: 'Delete' }));
        await press('Enter');
        await page.getByText('This object does not exist, or it was deleted.').waitFor();
        await dialog.waitFor({ state: 'detached' });
        await expectFocus(page);

        await page.keyboard.press('g');
        await press('u');
        await page.getByRole('heading', { name: 'Users', exact: true }).waitFor();
        await press('n');
        await page.getByRole('dialog', { name: 'New user' }).waitFor();
        await expectFocus(page);
        await press('Escape');
        await dialog.waitFor({ state: 'detached' });
        await expectFocus(page);
      },
      // The page may ask for something before it is loaded anew.
      { expected: /status of 401/ },
    );
  });

  test('twice as large, with wide spaces in the texts, without motion and with forced colors: nothing is cut, and what is chosen shows', async () => {
    const pages = [
      '/',
      `${posts}?ns=default`,
      `${posts}/default/post-001`,
      `${posts}/default/post-001?tab=form`,
      '/plugins',
    ];
    await site.visit(
      '/',
      async (page) => {
        for (const path of [...pages, '/access/users', '/events', '/apply', `${posts}/new?ns=default`]) {
          await page.goto(`${site.url}/console${path}`);
          await page.getByRole('button', { name: 'Logged in as admin' }).waitFor();
          await page.getByText('Loading…').first().waitFor({ state: 'hidden' });
          await page.evaluate(widenTexts);
          expect({ path, cut: await page.evaluate(cutTexts) }).toEqual({ path, cut: [] });
        }
        await page.emulateMedia({ forcedColors: 'active' });
        await page.setViewportSize({ width: 1280, height: 780 });
        await page.goto(`${site.url}/console${posts}?ns=default`);
        const current = page.getByRole('navigation', { name: 'Models' }).locator('[aria-current=page]');
        expect(await outlineOf(current)).toBe('solid');
        await page.keyboard.press('Control+k');
        await page.getByRole('dialog').waitFor();
        await page.keyboard.type('go to post');
        await page.locator('.menu-item[data-focused]').waitFor();
        expect(await outlineOf(page.locator('.menu-item[data-focused]'))).toBe('solid');
        expect(await page.evaluate('document.getAnimations().length')).toBe(0);
      },
      { device: { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 } },
    );
  });

  test('every step back and forward is where the address says, also for names of all kinds, and what is typed is asked for', async () => {
    const name = 'odd name:of?all#kinds&more=+@!$\'()*,;é"<>|';
    await site.api('POST', `${rbac}/clusterroles`, { metadata: { name }, rules: [] });
    await site.api('POST', '/api/v1/namespaces', { metadata: { name: 'elsewhere' } });
    await site.visit(`/g/rbac.authorization.k8s.io/clusterroles?f=metadata.name%5E%3Dodd`, async (page, context) => {
      await page.getByRole('link', { name }).click();
      await page.getByRole('heading', { name }).waitFor();
      await page.getByRole('definition').filter({ hasText: name }).first().waitFor();
      await page.getByRole('link', { name: 'YAML' }).click();
      await yamlEditor(page, `YAML of ${name}`).waitFor();
      await page.reload();
      await yamlEditor(page, `YAML of ${name}`).waitFor();
      await page.goBack();
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();
      await page.goBack();
      await page.getByRole('link', { name }).waitFor();
      await page.goForward();
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();

      // A percent sign in a value stays what it is.
      await page.goto(
        `${site.url}/console${posts}?l=${encodeURIComponent('parity=even')}&f=${encodeURIComponent('metadata.name!=%41')}`,
      );
      await page.getByRole('button', { name: 'Remove the condition metadata.name!=%41' }).waitFor();

      await page.goto(`${site.url}/console${posts}?ns=default`);
      await page.getByRole('link', { name: 'post-001' }).click();
      await page.getByRole('link', { name: 'Form', exact: true }).click();
      const title = page.getByLabel('title', { exact: true });
      await title.waitFor();
      await page.getByRole('navigation', { name: 'Models' }).getByRole('link', { name: 'Secret' }).click();
      await page.getByRole('heading', { name: 'Secret' }).waitFor();
      await page.goBack();
      await title.fill('Typed');
      // Other tabs of the object lose nothing.
      await page.goBack();
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();
      await page.goForward();
      expect(await title.inputValue()).toBe('Typed');
      // A step that is refused leaves the history as it is.
      const questions: string[] = [];
      const refuse = async (step: 'back' | 'forward'): Promise<void> => {
        const before = questions.length;
        page.once('dialog', (dialog) => void dialog.dismiss().then(() => questions.push(dialog.message())));
        await page.evaluate(`history.${step}()`);
        await pollUntil(() => questions.length > before, undefined, 'a question');
      };
      const length = await page.evaluate('history.length');
      await refuse('forward');
      await page.goBack();
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();
      await refuse('back');
      await page.waitForURL(`**/console${posts}/default/post-001`);
      await page.goForward();
      expect(await title.inputValue()).toBe('Typed');
      expect(await page.evaluate('history.length')).toBe(length);
      page.once('dialog', (dialog) => void dialog.accept());
      await page.evaluate('history.forward()');
      await page.getByRole('heading', { name: 'Secret' }).waitFor();
      // Another namespace, by its address.
      await page.goto(`${site.url}/console${posts}?ns=elsewhere`);
      await page.getByText('There are no objects.').waitFor();
      await page.getByLabel('Namespace').fill('default');
      await page.getByText('objects', { exact: false }).first().waitFor();
      expect(new URL(page.url()).search).toBe('?ns=default');

      // A browser that lets nobody refuse a step goes back to where it was.
      await context.addInitScript('delete globalThis.navigation');
      await page.reload();
      await page.getByRole('link', { name: 'post-001' }).click();
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();
      await page.getByRole('link', { name: 'Form', exact: true }).click();
      await title.fill('Typed');
      await page.goBack();
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();
      await refuse('back');
      await page.waitForURL(`**/console${posts}/default/post-001`);
      expect(questions).toEqual(Array(3).fill('You have changes that are not saved. Leave the page?'));
    });
  });

  test('pasted files of any kind are read, and what is half right is applied in its half', async () => {
    const lines = (...all: string[]): string => all.join('\r\n');
    const windows = lines(
      '\uFEFFapiVersion: v1',
      'kind: ConfigMap',
      'metadata: { name: windows }',
      'data: { text: "a\\tb" }',
      '---',
      '\uFEFFapiVersion: v1',
      'kind: ConfigMap',
      'metadata: { name: second }',
      '---',
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata: { name: Not A Name }',
      '',
    );
    await site.visit('/apply', async (page) => {
      const results = page.locator('.applied > li');
      const check = async (text: string): Promise<string[]> => {
        await typeYaml(page, 'Objects', text);
        await page.getByRole('button', { name: 'Check' }).click();
        await results.first().waitFor();
        return (await results.allInnerTexts()).map((each) => each.split('\n')[0]!.trim());
      };
      expect(await check(windows)).toEqual([
        'ConfigMap windows will be created Difference',
        'ConfigMap second will be created Difference',
        'ConfigMap Not A Name refused',
      ]);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Apply 3 objects' }).click();
      await page.getByRole('button', { name: 'Apply 1 object' }).waitFor();
      expect(await site.api('GET', '/api/v1/namespaces/default/configmaps/second')).toMatchObject({
        kind: 'ConfigMap',
      });

      const line = (name: string): string =>
        JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
      expect(await check(`\uFEFF${line('first')}\n${line('other')}\n`)).toHaveLength(2);

      await typeYaml(page, 'Objects', 'apiVersion: v1\n\tkind: ConfigMap\n');
      await page.getByRole('button', { name: 'Check' }).click();
      await page
        .getByRole('alert')
        .getByText(/^The text is not YAML: .*line 2/s)
        .waitFor();

      // A megabyte.
      const long = Array.from(
        { length: 20 },
        (_, at) =>
          `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: long-${at} }\ndata: { text: "${'x'.repeat(50_000)}" }\n`,
      ).join('---\n');
      expect(await check(long)).toHaveLength(20);
    });
  });

  test('settings of a plugin are set, refused and reset in a form', async () => {
    await site.api('PATCH', '/apis/plugin.svc.run/v1alpha1/plugins/notes', { spec: { enabled: true } });
    await site.visit('/plugins/notes', async (page) => {
      await page.getByRole('definition').getByRole('link', { name: 'Settings notes' }).first().click();
      await page.getByRole('heading', { name: 'notes', exact: true }).waitFor();
      await page.getByRole('link', { name: 'Form', exact: true }).click();
      const greeting = page.getByLabel('greeting', { exact: true });
      await greeting.fill('');
      const limit = page.getByLabel('limit', { exact: true });
      await limit.fill('5000');
      await page.getByText(/^The server would refuse this, for \d reasons?\.$/).waitFor();
      expect(await limit.getAttribute('aria-invalid')).toBe('true');
      await expectAccessible(page);
      await limit.fill('50');
      await greeting.fill('Good day');
      await page.getByText('The server would accept this.').waitFor();
      await page.keyboard.press('Control+s');
      await page.getByText('Saved.').waitFor();
      const stored = (): Promise<unknown> => site.api('GET', '/apis/notes.example.com/v1/settings/notes');
      expect(await stored()).toMatchObject({ spec: { greeting: 'Good day', limit: 50 } });
      await page.getByRole('button', { name: 'Remove spec.limit' }).click();
      await page.keyboard.press('Control+s');
      await pollUntil(
        async () => (await limit.inputValue()) === '10' || (await page.getByText('default: 10').count()) > 0,
      );
      expect(await stored()).toMatchObject({ spec: { greeting: 'Good day', limit: 10 } });
    });
  });

  test('on a slow network everything says that it loads, nothing jumps, and nothing is sent twice', async () => {
    await site.visit(
      '/',
      async (page, context) => {
        const devtools = await context.newCDPSession(page);
        await devtools.send('Network.enable');
        await devtools.send('Network.emulateNetworkConditions', {
          offline: false,
          latency: 400,
          downloadThroughput: 200_000,
          uploadThroughput: 100_000,
        });
        await page.goto(`${site.url}/console${posts}?ns=default`);
        await page.getByText('Loading…').first().waitFor();
        const grid = page.getByRole('grid');
        await page.getByRole('link', { name: 'post-005' }).waitFor();
        const before = await grid.boundingBox();
        await page.getByText('Live', { exact: true }).waitFor();
        await page.getByLabel('Field').getByRole('option', { name: 'priority' }).waitFor({ state: 'attached' });
        const sort = page.getByRole('button', { name: 'Priority' });
        await sort.click();
        await page.locator('[role=grid][aria-busy=true]').waitFor();
        expect((await grid.boundingBox())?.y).toBe(before?.y);
        await page.locator('[role=grid][aria-busy=false]').waitFor();
        expect((await grid.boundingBox())?.y).toBe(before?.y);

        const sent: string[] = [];
        page.on('request', (request) => {
          if (request.method() !== 'GET' && !/dryRun|selfsubject|streams/.test(request.url()))
            sent.push(request.method());
        });
        await page.goto(`${site.url}/console${posts}/new?ns=default&tab=yaml`);
        await typeYaml(
          page,
          'New Post',
          'apiVersion: blog.example.com/v1\nkind: Post\nmetadata: { name: slow }\nspec: { title: Slow }\n',
        );
        await page.getByRole('button', { name: 'Create' }).dblclick();
        await page.getByRole('heading', { name: 'slow' }).waitFor();
        expect(sent).toEqual(['POST']);
        await page.getByRole('link', { name: 'YAML' }).click();
        await replaceInYaml(page, 'YAML of slow', 'title: Slow', 'title: Slower');
        await page.getByRole('button', { name: 'Save' }).dblclick();
        await page.getByText('Saved.').waitFor();
        expect(sent).toEqual(['POST', 'PUT']);
        await page.getByRole('button', { name: 'Delete' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).dblclick();
        await page.getByText('This object does not exist, or it was deleted.').waitFor();
        expect(sent).toEqual(['POST', 'PUT', 'DELETE']);
        await page.getByRole('button', { name: 'Logged in as admin' }).click();
        await page.getByRole('button', { name: 'Log out' }).click();
        await page.getByLabel('Username').fill('admin');
        await page.getByLabel('Password').fill(await site.adminPassword());
        sent.length = 0;
        await page.getByRole('button', { name: 'Log in' }).dblclick();
        await page.getByRole('button', { name: 'Logged in as admin' }).waitFor();
        expect(sent).toEqual(['POST']);
      },
      { isNewSession: true },
    );
  });

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

/** Every control is large enough and can be reached by a finger; the page does not scroll sideways. */
async function expectTouchable(page: Page): Promise<void> {
  expect(await accessibilityFaults(page, 'look')).toEqual([]);
  expect(await page.evaluate(coveredControls)).toEqual([]);
}

/** The focus is on something that is seen, and that shows it. */
async function expectFocus(page: Page): Promise<void> {
  await pollUntil(async () => (await page.evaluate(focusFault)) === '', undefined, 'a focus').catch(
    async (error: unknown) => {
      throw new Error(`${String(await page.evaluate(focusFault))} at ${page.url()}`, { cause: error });
    },
  );
}

function outlineOf(locator: Locator): Promise<string> {
  return locator.evaluate((element) => {
    const { getComputedStyle } = globalThis as unknown as {
      getComputedStyle: (of: unknown) => { outlineStyle: string };
    };
    return getComputedStyle(element).outlineStyle;
  });
}

const focusFault = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return 'the focus is lost';
  const { width, height } = element.getBoundingClientRect();
  if (width === 0 || height === 0) return 'the focus is on nothing: ' + element.outerHTML.slice(0, 200);
  // What holds the whole page, or a dialog, is no control.
  if (element.matches('#content, [role=dialog], .cm-content')) return '';
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  if (outlineStyle === 'none' || outlineWidth === '0px') return 'the focus is not seen: ' + element.outerHTML.slice(0, 200);
  return '';
})()`;

/** Those that something else lies over when they are scrolled to, and a page that scrolls sideways. */
const coveredControls = `(() => {
  const covered = [];
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) covered.push('too wide');
  for (const control of document.querySelectorAll('a[href], button, input, select, summary')) {
    if (!control.checkVisibility({ visibilityProperty: true }) || control.matches('.skip')) continue;
    const isUnderNavigation = document.querySelector('.navigation.open') !== null && control.closest('#content') !== null;
    if (isUnderNavigation) continue;
    control.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    const { x, y, width, height } = control.getBoundingClientRect();
    const top = document.elementFromPoint(x + width / 2, y + height / 2);
    if (top === null || !(control.contains(top) || top.contains(control) || control.labels?.[0]?.contains(top)))
      covered.push(control.outerHTML.slice(0, 160) + ' under ' + (top?.outerHTML.slice(0, 160) ?? 'nothing'));
  }
  return covered;
})()`;

/** Source: WCAG 1.4.12. */
const widenTexts = `(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important } p { margin-bottom: 2em !important }');
  document.adoptedStyleSheets = [sheet];
})()`;

/** Texts of which a part is not seen, but for those that say so by three dots and have a title; and a page that is too wide. */
const cutTexts = `(() => {
  const cut = [];
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) cut.push('too wide');
  for (const element of document.querySelectorAll('#content *, .bar *')) {
    if (element.closest('.cm-editor, canvas, svg') !== null || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const isHidden = (overflow) => overflow === 'hidden' || overflow === 'clip';
    const isCutBelow = isHidden(style.overflowY) && element.scrollHeight > element.clientHeight + 1;
    const isCutAside = isHidden(style.overflowX) && element.scrollWidth > element.clientWidth + 1 && style.textOverflow !== 'ellipsis';
    if ((isCutBelow || isCutAside) && element.innerText?.trim()) cut.push(element.outerHTML.slice(0, 200));
  }
  return cut;
})()`;
