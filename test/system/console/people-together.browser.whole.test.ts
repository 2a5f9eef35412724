import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';
import { createPosts, post, postDefinition, postsPath } from './posts.ts';
import { replaceInYaml, yamlOf } from './yaml-editor.ts';

const posts = '/g/blog.example.com/posts';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** What happens to people in the console because of others, and of the server. */
describeInBrowser('people in the console, and what others do meanwhile', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', definitions, postDefinition);
    await createPosts(site, 60);
  });
  afterAll(() => site?.stop());

  const title = (page: Page) => page.getByLabel('title', { exact: true });

  test('a draft survives a restart of the server, as form and as YAML, and is saved after it', async () => {
    await site.api('POST', postsPath, post('restarted', { title: 'Before', body: 'Before' }));
    await site.visit(
      `${posts}/default/restarted?tab=form`,
      async (page) => {
        await title(page).fill('Typed in the form');
        await page.getByText('The server would accept this.').waitFor();
        await site.restart(async () => {
          await page.getByText(/^Not up to date since/).waitFor();
          expect(await title(page).inputValue()).toBe('Typed in the form');
          await title(page).fill('Typed while it was down');
          await page.getByRole('button', { name: 'Save' }).click();
          await page.getByRole('alert').waitFor();
          await expectAccessible(page);
        });
        await page.getByText('Live', { exact: true }).waitFor();
        expect(await title(page).inputValue()).toBe('Typed while it was down');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Saved.').waitFor();
        await page.getByRole('link', { name: 'YAML' }).click();
        await replaceInYaml(page, 'YAML of restarted', 'body: Before', 'body: After');
        await site.restart(() => page.getByText(/^Not up to date since/).waitFor());
        await page.getByText('Live', { exact: true }).waitFor();
        expect(await yamlOf(page, 'YAML of restarted')).toContain('body: After');
        await page.keyboard.press('Control+s');
        await page.getByText('Saved.').waitFor();
      },
      { expected: /ERR_|Failed to load resource/ },
    );
    expect(await site.api('GET', `${postsPath}/restarted`)).toMatchObject({
      spec: { title: 'Typed while it was down', body: 'After' },
    });
  });

  test('the definition of a model goes while somebody edits, creates or looks: the page says so, and what was typed stays', async () => {
    await site.api('POST', definitions, definitionOf('leaflets', 'Leaflet'));
    const path = '/apis/blog.example.com/v1/namespaces/default/leaflets';
    const leaflet = {
      apiVersion: 'blog.example.com/v1',
      kind: 'Leaflet',
      metadata: { name: 'one' },
      spec: { title: 'One' },
    };
    await pollUntil(async () =>
      site.api('POST', path, leaflet).then(
        () => true,
        () => false,
      ),
    );
    await site.visit('/g/blog.example.com/leaflets/default/one?tab=form', async (page, context) => {
      const [creating, list] = [await context.newPage(), await context.newPage()];
      await creating.goto(`${site.url}/console/g/blog.example.com/leaflets/new?ns=default&tab=form`);
      await title(creating).fill('Another');
      await list.goto(`${site.url}/console/g/blog.example.com/leaflets?ns=default`);
      await list.getByRole('link', { name: 'one' }).waitFor();
      await title(page).fill('Typed');
      await site.api('DELETE', `${definitions}/leaflets.blog.example.com`);
      for (const each of [page, creating, list])
        await each.getByRole('alert').getByText('The server has no model leaflets.blog.example.com').first().waitFor();
      expect(await title(page).inputValue()).toBe('Typed');
      expect(await title(creating).inputValue()).toBe('Another');
      await expectAccessible(page);

      // It comes back, as when a plugin is enabled again.
      await site.api('POST', definitions, definitionOf('leaflets', 'Leaflet'));
      await list.getByText('There are no objects.').waitFor();
      await creating
        .getByRole('group', { name: 'metadata', exact: true })
        .getByLabel('name', { exact: true })
        .fill('two');
      await creating.getByText('The server would accept this.').waitFor();
      await creating.getByRole('button', { name: 'Create' }).click();
      await creating.getByRole('heading', { name: 'two' }).waitFor();
      await list.getByRole('link', { name: 'two' }).waitFor();
      expect(await title(page).inputValue()).toBe('Typed');
    });
  });

  test('a model gets a field and a version while its list and its form are open: both follow, and nothing typed or chosen is lost', async () => {
    await site.api('POST', definitions, definitionOf('notices', 'Notice'));
    const path = '/apis/blog.example.com/v1/namespaces/default/notices';
    const notice = (name: string): object => ({
      apiVersion: 'blog.example.com/v1',
      kind: 'Notice',
      metadata: { name },
      spec: { title: name },
    });
    await pollUntil(async () =>
      site.api('POST', path, notice('one')).then(
        () => true,
        () => false,
      ),
    );
    await site.api('POST', path, notice('two'));
    await site.visit('/g/blog.example.com/notices/default/one?tab=form', async (page, context) => {
      const list = await context.newPage();
      await list.goto(`${site.url}/console/g/blog.example.com/notices?ns=default`);
      await list.getByRole('checkbox', { name: 'Select two' }).check();
      await title(page).fill('Typed');
      const schema = schemaWith({ color: { type: 'string' } });
      await site.api('PATCH', `${definitions}/notices.blog.example.com`, {
        spec: { versions: [{ ...version('v1'), schema }] },
      });
      await page.getByLabel('color', { exact: true }).waitFor();
      expect(await title(page).inputValue()).toBe('Typed');
      await site.api('PATCH', `${definitions}/notices.blog.example.com`, {
        spec: {
          versions: [
            { ...version('v1'), schema },
            {
              ...version('v2'),
              storage: false,
              schema,
              additionalPrinterColumns: [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }],
            },
          ],
        },
      });
      await list.getByRole('columnheader', { name: 'Color' }).waitFor();
      await list.getByText('1 selected').waitFor();
      expect(await list.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Select two');
      expect(await title(page).inputValue()).toBe('Typed');
      await page.getByLabel('color', { exact: true }).fill('red');
      await site.api('PATCH', `${path}/one`, { metadata: { labels: { of: 'others' } } });
      await page.getByText('Somebody else saved this object while you were editing.').waitFor();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
    });
    expect(await site.api('GET', `${path}/one`)).toMatchObject({
      metadata: { labels: { of: 'others' } },
      spec: { title: 'Typed', color: 'red' },
    });
  });

  test('an object that waits for a finalizer says so, and who may end the wait', async () => {
    const held = post('held', { title: 'Held' }) as { metadata: object };
    await site.api('POST', postsPath, { ...held, metadata: { ...held.metadata, finalizers: ['example.com/archive'] } });
    // A member of an organization could edit what is in its namespace.
    const password = 'three wet boots';
    await site.accessApi('POST', '/api/v1/users/users/?oid=ROOT', {
      username: 'vic',
      name: 'vic',
      password,
      email: 'vic@example.com',
    });
    await site.letView('vic');
    await site.visit(`${posts}/default/held`, async (page) => {
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('it waits for these finalizers:').getByText('example.com/archive').waitFor();
      const remove = page.getByRole('button', { name: 'Delete' });
      await remove.and(page.locator('[aria-disabled=true]')).waitFor();
      await page.getByText('Its deletion has begun.').waitFor({ state: 'attached' });
      await expectAccessible(page);
      await site.visit(
        `${posts}/default/held`,
        async (other) => {
          await other.getByText('this rule: update posts.blog.example.com held in default').first().waitFor();
          await expectAccessible(other);
        },
        { user: 'vic', password },
      );
      await page.getByRole('link', { name: 'You may remove them in the YAML' }).click();
      await replaceInYaml(page, 'YAML of held', '  finalizers:\n    - example.com/archive\n', '');
      await page.keyboard.press('Control+s');
      await page.getByText('This object does not exist, or it was deleted.').waitFor();
    });
  });

  test('a deletion of many is stopped: what was done, what was not, and what somebody else had deleted is said', async () => {
    await site.visit(`${posts}?ns=default&f=metadata.name%5E%3Dpost-`, async (page) => {
      let free: () => void = () => undefined;
      const freed = new Promise<void>((resolve) => {
        free = resolve;
      });
      let sent = 0;
      await page.route('**/posts/post-*', async (route) => {
        if (route.request().method() === 'DELETE') {
          sent += 1;
          if (sent > 10) await freed;
        }
        await route.continue();
      });
      const dialog = page.getByRole('dialog');
      await page.getByRole('checkbox', { name: 'Select all that match' }).click();
      await page.getByText('60 selected').waitFor();
      await page.getByRole('region', { name: '60 selected' }).getByRole('button', { name: 'Delete' }).click();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await dialog.getByText('10 of 60 done').waitFor();
      for (const name of ['post-057', 'post-058', 'post-059']) await site.api('DELETE', `${postsPath}/${name}`);
      await dialog.getByRole('button', { name: 'Stop' }).click();
      free();
      await dialog.getByText('Stopped. 46 objects were not begun. 14 objects deleted.').waitFor();
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('region', { name: '46 selected' }).getByRole('button', { name: 'Delete' }).click();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await dialog.getByText('43 objects deleted. 3 objects were gone already.').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByText('No object matches the filter.').waitFor();
    });
  });

  test('a login that wrong passwords have locked says until when; an administrator unlocks it, and sets another password', async () => {
    const password = await site.addUser('lou');
    const logInWith = async (page: Page, typed: string): Promise<void> => {
      await page.getByLabel('Username').fill('lou');
      await page.getByLabel('Password').fill(typed);
      await page.getByRole('button', { name: 'Log in' }).click();
    };
    for (let attempt = 0; attempt < 7; attempt += 1)
      await fetch(`${site.url}/api/v1/authentication/sessions/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'lou', password: 'wrong' }),
      }).then((answer) => answer.arrayBuffer());
    await site.visit('/access/users?search=lou', async (page, context) => {
      const person = await context.browser()!.newContext({ reducedMotion: 'reduce' });
      const login = await person.newPage();
      await login.goto(`${site.url}/console/`);
      await logInWith(login, password);
      await login
        .getByRole('alert')
        .getByText(/^This account is locked .* Try again in \d+ minutes, or ask an administrator/)
        .waitFor();
      await expectAccessible(login);
      await page.getByRole('link', { name: 'lou', exact: true }).click();
      await page.getByRole('button', { name: 'Unlock login' }).click();
      await page.getByText('Failed logins are forgotten: the user can log in again.').waitFor();
      await logInWith(login, password);
      await login.getByRole('button', { name: 'Logged in as lou' }).waitFor();
      await page.getByRole('button', { name: 'Set password' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('New password').fill('five green hats');
      await dialog.getByRole('button', { name: 'Set password' }).click();
      await page.getByText('The password is set.').waitFor();
      // Their session has ended: the old password does not begin another one.
      await login.reload();
      await logInWith(login, password);
      await login
        .getByRole('alert')
        .getByText(/password you entered is incorrect/)
        .waitFor();
      await logInWith(login, 'five green hats');
      await login.getByRole('button', { name: 'Logged in as lou' }).waitFor();
      await person.close();
    });
  });

  test('two tabs have a draft each: a logout asks for its own, and the other keeps its own over a new login', async () => {
    await site.api('POST', postsPath, post('tab-one', { title: 'Before' }));
    await site.api('POST', postsPath, post('tab-two', { title: 'Before' }));
    await site.visit(
      `${posts}/default/tab-one?tab=form`,
      async (page, context) => {
        const other = await context.newPage();
        await other.goto(`${site.url}/console${posts}/default/tab-two?tab=form`);
        await title(page).fill('Mine');
        await title(other).fill('Mine, too');
        await page.getByRole('button', { name: 'Logged in as admin' }).click();
        page.once('dialog', (question) => void question.dismiss());
        await page.getByRole('button', { name: 'Log out' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
        expect(await title(page).inputValue()).toBe('Mine');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Saved.').waitFor();
        await page.getByRole('button', { name: 'Logged in as admin' }).click();
        await page.getByRole('button', { name: 'Log out' }).click();
        await page.getByRole('heading', { name: 'Log in' }).waitFor();

        await other.getByRole('dialog', { name: 'Log in again' }).waitFor();
        await expectAccessible(other);
        await other.getByLabel('Password').fill(await site.adminPassword());
        await other.keyboard.press('Enter');
        await other.getByRole('dialog').waitFor({ state: 'detached' });
        expect(await title(other).inputValue()).toBe('Mine, too');
        await other.getByRole('button', { name: 'Save' }).click();
        await other.getByText('Saved.').waitFor();
      },
      { isNewSession: true },
    );
    expect(await site.api('GET', `${postsPath}/tab-two`)).toMatchObject({ spec: { title: 'Mine, too' } });
  });
});

function version(name: string): object {
  return { name, served: true, storage: true, schema: schemaWith({}) };
}

function schemaWith(fields: object): object {
  const spec = { type: 'object', properties: { title: { type: 'string' }, ...fields } };
  return { openAPIV3Schema: { type: 'object', properties: { spec } } };
}

function definitionOf(plural: string, kind: string): object {
  return {
    ...postDefinition,
    metadata: { name: `${plural}.blog.example.com` },
    spec: {
      group: 'blog.example.com',
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [version('v1')],
    },
  };
}
