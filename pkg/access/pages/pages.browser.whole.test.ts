import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { accessibilityFaults, complaintsOf, startBrowser } from './pagetest/browser.ts';
import { describeInBrowser } from './pagetest/describe-in-browser.ts';
import { password, startPageTest, type PageTest } from './pagetest/start-page-test.ts';

describeInBrowser('the pages in a browser', () => {
  let server: PageTest;
  let browser: Browser;
  let count = 0;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startPageTest(), startBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const wrong = 'wrong horse';

  async function newUser(): Promise<string> {
    count += 1;
    const username = `user${count}`;
    await server.addPerson({ username, name: 'Mia Morgan' });
    return username;
  }

  async function logIn(page: Page, username: string, typed = password): Promise<void> {
    await page.goto(`${server.url}/settings/`);
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password', { exact: true }).fill(typed);
    await page.getByRole('button', { name: 'Log in' }).click();
    await (typed === wrong ? page.getByRole('alert') : page.getByRole('heading', { name: 'Profile' })).waitFor();
  }

  async function inContext(
    options: Parameters<Browser['newContext']>[0],
    work: (page: Page, context: BrowserContext) => Promise<void>,
  ): Promise<void> {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const complaints = complaintsOf(page, server.url);
    try {
      await work(page, context);
    } finally {
      await context.close();
    }
    expect(complaints).toEqual([]);
  }

  describe.each([
    ['with JavaScript', true],
    ['without JavaScript', false],
  ])('%s', (_reason, javaScriptEnabled) => {
    test('a user logs in, and is told when the password is wrong', async () => {
      const username = await newUser();
      await inContext({ javaScriptEnabled }, async (page) => {
        await logIn(page, username, wrong);
        await page.getByRole('alert').getByText('incorrect').waitFor();
        expect(await page.getByLabel('Username').inputValue()).toBe(username);
        expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('');
        await page.getByLabel('Password', { exact: true }).fill(password);
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Profile' }).waitFor();
        expect(new URL(page.url()).pathname).toBe('/settings/');
        await page.getByRole('button', { name: 'Log out' }).click();
        await page.getByRole('status').getByText('You are logged out.').waitFor();
      });
    });

    test('a user creates an access key and a token, each shown once', async () => {
      const username = await newUser();
      await inContext({ javaScriptEnabled }, async (page) => {
        await logIn(page, username);
        await page.getByRole('link', { name: 'Access keys' }).click();
        await page.getByRole('button', { name: 'Create access key' }).click();
        const secrets = page.locator('.secret');
        await secrets.first().waitFor();
        const [id = '', secret = ''] = await secrets.allTextContents();
        expect(secret).toMatch(/^[0-9A-Za-z]{36}$/);
        await page.getByRole('link', { name: 'Personal tokens' }).click();
        await page.getByLabel('What it is for').fill('backup');
        await page.getByLabel('Only what these roles permit:').check();
        await page.getByLabel('view', { exact: true }).check();
        await page.getByRole('button', { name: 'Create personal token' }).click();
        expect(await secrets.textContent()).toMatch(/^pat_/);
        await page.getByRole('button', { name: /^Revoke/ }).click();
        await page.getByText('revoked', { exact: true }).waitFor();
        await page.getByRole('link', { name: 'Access keys' }).click();
        await page.getByText(id, { exact: true }).first().waitFor();
        expect(await page.content()).not.toContain(secret);
        await page.locator('summary', { hasText: /^Delete/ }).click();
        await page.getByRole('button', { name: /^Delete for good/ }).click();
        await page.getByText('You have no access keys.').waitFor();
      });
    });

    test('a user ends another session, and changes the password', async () => {
      const username = await newUser();
      await inContext({ javaScriptEnabled, userAgent: 'Elsewhere/1.0' }, async (elsewhere) => {
        await logIn(elsewhere, username);
        await inContext({ javaScriptEnabled }, async (page) => {
          await logIn(page, username);
          await page.getByRole('link', { name: 'Sessions' }).click();
          await page.getByText('Elsewhere/1.0').waitFor();
          await page.getByRole('button', { name: /^End this session/ }).click();
          await page.getByRole('status').getByText('The session has ended.').waitFor();
          expect(await page.getByText('Elsewhere/1.0').count()).toBe(0);
          await page.getByRole('link', { name: 'Access keys' }).click();
          await page.getByRole('button', { name: 'Create access key' }).click();
          await page.getByRole('link', { name: 'Password' }).click();
          await page.getByLabel(/^End my personal tokens, access keys and private token/).check();
          await page.getByLabel('Current password').fill(password);
          await page.getByLabel('New password', { exact: true }).fill('green horse 9');
          await page.getByLabel('New password again').fill('green horse 9');
          await page.getByRole('button', { name: 'Change password' }).click();
          await page.getByRole('status').getByText('Your password is changed.').waitFor();
          await page.getByRole('link', { name: 'Access keys' }).click();
          await page.getByText('You have no access keys.').waitFor();
        });
        await elsewhere.reload();
        await elsewhere.getByRole('heading', { name: 'Log in' }).waitFor();
        await logIn(elsewhere, username, 'green horse 9');
        await elsewhere.getByRole('heading', { name: 'Profile' }).waitFor();
      });
    });
  });

  test('reloading the page of a new key creates no second one; its secret can be copied, a password shown', async () => {
    const username = await newUser();
    await inContext({ permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
      await page.goto(`${server.url}/login/`);
      await page.getByLabel('Show passwords').check();
      expect(await page.getByLabel('Password', { exact: true }).getAttribute('type')).toBe('text');
      await logIn(page, username);
      await page.goto(`${server.url}/settings/access-keys/`);
      await page.getByRole('button', { name: 'Create access key' }).click();
      await page.getByRole('button', { name: 'Copy key secret' }).click();
      await page.getByText('Copied.').waitFor();
      const secret = await page.locator('.secret').nth(1).textContent();
      expect(
        await page.evaluate(() =>
          (
            globalThis as unknown as { navigator: { clipboard: { readText(): Promise<string> } } }
          ).navigator.clipboard.readText(),
        ),
      ).toBe(secret);
      await page.reload();
      await page.getByRole('button', { name: 'Create access key' }).waitFor();
      expect(await page.locator('ul.list > li').count()).toBe(1);
      expect(await page.locator('.secret').count()).toBe(0);
      // It does not send the refused form again either, whose URL is no page.
      await page.locator('summary', { hasText: 'Change addresses' }).click();
      await page.getByLabel('Addresses it may be used from').first().fill('nowhere');
      await page.getByRole('button', { name: /^Save addresses/ }).click();
      await page.getByRole('alert').waitFor();
      await page.reload();
      await page.getByRole('heading', { name: 'New access key' }).waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    });
  });

  test('everything is reachable by keyboard, beginning with the link that skips the navigation', async () => {
    const username = await newUser();
    await inContext({}, async (page) => {
      await logIn(page, username);
      await page.goto(`${server.url}/settings/`);
      const focused = (): Promise<string> =>
        page.evaluate(() =>
          (
            globalThis as unknown as { document: { activeElement: { textContent: string } } }
          ).document.activeElement.textContent.trim(),
        );
      const seen: string[] = [];
      for (let i = 0; i < 7; i += 1) {
        await page.keyboard.press('Tab');
        seen.push(await focused());
      }
      expect(seen).toEqual([
        'Skip to the content',
        'Log out',
        'Profile',
        'Password',
        'Access keys',
        'Personal tokens',
        'Sessions',
      ]);
    });
  });

  const displays = [
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 1280 },
    { colorScheme: 'dark', width: 360 },
    { colorScheme: 'light', width: 360 },
  ] as const;

  /** In every color scheme and width: axe finds no faults, and the page does not scroll sideways. */
  async function check(page: Page, name: string): Promise<void> {
    for (const { colorScheme, width } of displays) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 780 });
      // The result of the other rules is the same in all of them.
      const faults = await accessibilityFaults(page, width === 1280 && colorScheme === 'light' ? 'all' : 'look');
      const isTooWide = await page.evaluate(() => {
        const { documentElement } = (
          globalThis as unknown as { document: { documentElement: { scrollWidth: number; clientWidth: number } } }
        ).document;
        return documentElement.scrollWidth > documentElement.clientWidth;
      });
      expect({ name, colorScheme, width, faults, isTooWide }).toEqual({
        name,
        colorScheme,
        width,
        faults: [],
        isTooWide: false,
      });
      // For manual checks: PAGES_SCREENSHOTS=<folder>.
      const folder = process.env['PAGES_SCREENSHOTS'];
      if (folder !== undefined)
        await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true });
    }
  }

  test('every page passes the accessibility checks', async () => {
    const username = 'mia.morgan';
    await server.addPerson({ username, name: 'Mia Morgan' });
    await inContext({}, async (page) => {
      await page.goto(`${server.url}/login/`);
      await check(page, 'login');
      await logIn(page, username, wrong);
      await check(page, 'login-wrong');
      await logIn(page, username);
      await page.getByRole('heading', { name: 'Profile' }).waitFor();
      await check(page, 'profile');
      await page.goto(`${server.url}/settings/password/`);
      await page.getByLabel('Current password').fill(wrong);
      await page.getByLabel('New password', { exact: true }).fill('short');
      await page.getByLabel('New password again').fill('short');
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByRole('alert').waitFor();
      await check(page, 'password-wrong');
      await page.goto(`${server.url}/settings/access-keys/`);
      await page.getByRole('button', { name: 'Create access key' }).click();
      await page.locator('.secret').first().waitFor();
      await check(page, 'access-keys');
      await page.goto(`${server.url}/settings/personal-tokens/`);
      await page.getByLabel('What it is for').fill('Backup of the shop');
      await page.getByRole('button', { name: 'Create personal token' }).click();
      await page.locator('.secret').waitFor();
      await page.locator('summary').click();
      await check(page, 'personal-tokens');
      await page.goto(`${server.url}/settings/sessions/`);
      await check(page, 'sessions');
      await page.goto(`${server.url}/nothing/`);
      await check(page, 'not-found');
    });
  });
});
