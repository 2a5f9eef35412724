import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { ConsoleSite, drawPicture, expectAccessible } from './console-site.ts';

const sessions = '/api/v1/authentication/sessions/';
const keys = '/api/v1/authentication/access-keys/';
/** Text that becomes a script wherever a page takes it for HTML. */
const hostile = `"'><img src=x onerror=alert(1)>`;

describeInBrowser('the user center', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
  });
  afterAll(() => site?.stop());

  test('its first page loads at most 110 kB of script, and 15 kB of style', async () => {
    const page = await readFile(join(site.dist, 'uc.html'), 'utf8');
    const sizes = { js: 0, css: 0 };
    for (const [, name, type] of page.matchAll(/\/console\/(assets\/[^"]+\.(js|css))"/g))
      sizes[type as 'js' | 'css'] += (await stat(join(site.dist, `${name}.gz`))).size;
    expect(sizes.js).toBeGreaterThan(50_000);
    expect(sizes.js).toBeLessThanOrEqual(110_000);
    expect(sizes.css).toBeLessThanOrEqual(15_000);
  });

  test('a user without any right on models looks after themself', async () => {
    const password = await site.addUser('una');
    await site.addUser('otto');
    const press = (await site.accessApi('POST', '/api/v1/orgs/orgs/', { name: 'Press' })) as { id: string };
    await site.accessApi('POST', '/api/v1/rbac/org-role-bindings/', { user: 'una', role: 'OrgAuditor', org: press.id });
    await site.visit(
      '/',
      async (page, context) => {
        await changeProfile(page, async () => {
          await context.clearCookies();
          return password;
        });
        await endSessions(page, password);
        const token = await makeToken(page);
        await makeKeys(page, password);
        await changePassword(page, password, token);
        await seeLogins(page);
        await seeOrganizations(page);
        await page.getByRole('link', { name: 'Pages without script' }).click();
        await page.getByRole('heading', { name: 'Profile' }).waitFor();
        await page.getByRole('link', { name: 'User center' }).click();
        await page.getByRole('navigation', { name: 'User center' }).waitFor();
      },
      { user: 'una', password, at: '/uc', expected: /status of 401/ },
    );
  });

  /** The draft outlives a refusal, and the end of the session; leaving it asks first. */
  async function changeProfile(page: Page, endSession: () => Promise<string>): Promise<void> {
    await page.getByRole('heading', { name: 'Profile' }).waitFor();
    await expectAccessible(page);
    await drawPicture(page, 'user-center');
    await page.getByLabel('Name', { exact: true }).fill(hostile);
    await page.getByLabel('Comment').fill('Writes about rain.');
    await page.getByLabel('E-mail').fill('otto@example.com');
    await page.keyboard.press('Enter');
    const wrong = page.getByLabel('E-mail').and(page.locator('[aria-invalid=true]'));
    await wrong.waitFor();
    expect(await wrong.evaluate('document.activeElement.name || document.activeElement.type')).toBe('email');
    await expectAccessible(page);
    page.once('dialog', (question) => void question.dismiss());
    await page.getByRole('link', { name: 'Password' }).click();
    await page.getByRole('heading', { name: 'Profile' }).waitFor();
    await page.getByLabel('E-mail').fill('una.new@example.com');
    const password = await endSession();
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Log in again' });
    await dialog.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Your profile is saved.').waitFor();
    expect(await userRecord('una')).toMatchObject({
      name: hostile,
      comment: 'Writes about rain.',
      email: 'una.new@example.com',
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Nothing is changed.').waitFor();
  }

  async function userRecord(username: string): Promise<unknown> {
    const [record] = (await site.accessApi('GET', `/api/v1/users/users/?oid=ROOT&username=${username}`)) as unknown[];
    return record;
  }

  async function endSessions(page: Page, password: string): Promise<void> {
    const [one, two] = [await logIn(password), await logIn(password)];
    await page.getByRole('link', { name: 'Sessions' }).click();
    const other = page.getByRole('row', { name: /a program/ });
    await other.nth(1).waitFor();
    await expectAccessible(page);
    const dialog = page.getByRole('dialog');
    await other.first().getByRole('button', { name: 'End' }).click();
    await dialog.getByRole('button', { name: 'End' }).click();
    await other.nth(1).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'End all others' }).click();
    await dialog.getByRole('button', { name: 'End all others' }).click();
    await other.waitFor({ state: 'detached' });
    expect([await statusWith(one), await statusWith(two)]).toEqual([401, 401]);
    const disabled = page.locator('[aria-disabled=true]');
    await page.getByRole('button', { name: 'End all others' }).and(disabled).waitFor();
    await page.getByRole('button', { name: 'End', exact: true }).and(disabled).waitFor();
    await page.getByText('Log out to end it.').waitFor({ state: 'attached' });
  }

  /** What a program of the same user sends. */
  async function logIn(password: string): Promise<Record<string, string>> {
    const answer = await fetch(`${site.url}${sessions}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'a program' },
      body: JSON.stringify({ username: 'una', password }),
    });
    const { csrf_token: token } = (await answer.json()) as { csrf_token: string };
    const cookies = answer.headers.getSetCookie().map((text) => text.split(';')[0]);
    return { cookie: cookies.join('; '), 'x-csrftoken': token, 'content-type': 'application/json' };
  }

  async function statusWith(headers: Record<string, string>, path = `${sessions}current/`): Promise<number> {
    const answer = await fetch(`${site.url}${path}`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  }

  async function makeToken(page: Page): Promise<string> {
    const dialog = page.getByRole('dialog');
    await page.getByRole('link', { name: 'Personal tokens' }).click();
    await page.getByRole('button', { name: 'New token' }).click();
    await dialog.getByLabel('Purpose').fill(hostile);
    await dialog.getByLabel('Limited to').fill('nothing-of-this-name');
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Limited to').and(page.locator('[aria-invalid=true]')).waitFor();
    await dialog.getByLabel('Limited to').fill('');
    await page.keyboard.press('Enter');
    const token = await dialog.getByLabel('Secret').inputValue();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: /valid/ }).waitFor();
    await expectAccessible(page);
    expect(await statusWith({ authorization: `Bearer ${token}` }, '/api')).toBe(200);
    return token;
  }

  async function makeKeys(page: Page, password: string): Promise<void> {
    const headers = await logIn(password);
    for (let count = 0; count < 9; count += 1)
      expect((await fetch(`${site.url}${keys}`, { method: 'POST', headers, body: '{}' })).status).toBe(201);
    await page.getByRole('link', { name: 'Access keys' }).click();
    await page.getByRole('button', { name: 'New access key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'New access key' }).and(page.locator('[aria-disabled=true]')).focus();
    await page.getByText('You have 10 access keys already. Delete one first.').waitFor();
  }

  async function changePassword(page: Page, password: string, token: string): Promise<void> {
    const fresh = 'five warm gloves';
    const other = await logIn(password);
    await page.getByRole('link', { name: 'Password' }).click();
    const [old, first, again] = [
      page.getByLabel('Current password'),
      page.getByLabel('New password', { exact: true }),
      page.getByLabel('New password again'),
    ];
    await old.fill('not my password');
    await first.fill(fresh);
    await again.fill(fresh);
    await page.keyboard.press('Enter');
    await page.getByText('This is not your password.').waitFor();
    await expectAccessible(page);
    await old.fill(password);
    await page.getByLabel(/^End my personal tokens/).check();
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText(/^Your password is changed.* personal tokens/).waitFor();
    expect([await old.inputValue(), await first.inputValue(), await again.inputValue()]).toEqual(['', '', '']);
    expect([await statusWith(other), await statusWith({ authorization: `Bearer ${token}` }, '/api')]).toEqual([
      401, 401,
    ]);
    expect(await statusWith(await logIn(fresh))).toBe(200);
  }

  async function seeLogins(page: Page): Promise<void> {
    await page.getByRole('link', { name: 'Logins' }).click();
    await page
      .getByRole('row', { name: /una logged in/ })
      .first()
      .waitFor();
    await page.getByLabel(/^Reason/).selectOption('wrong password or username');
    await page.getByText('1 entry').waitFor();
    await expectAccessible(page);
  }

  async function seeOrganizations(page: Page): Promise<void> {
    await page.getByRole('link', { name: 'Organizations' }).click();
    const row = page.getByRole('row', { name: /^Press Organization auditor/ });
    await row.waitFor();
    await expectAccessible(page);
    expect(await row.getByRole('link', { name: /^org-/ }).getAttribute('href')).toMatch(/^\/console\/\?ns=org-/);
  }

  test('the console leads to it; an administrator sees there only what is their own', async () => {
    await site.visit('/access/credentials', async (page) => {
      await page.getByRole('main').getByRole('link', { name: 'User center' }).click();
      await page.getByRole('heading', { name: 'Profile' }).waitFor();
      expect(await page.title()).toBe('Profile · svc user center');
      await page.getByRole('link', { name: 'Organizations' }).click();
      await page.getByRole('row', { name: /^DEFAULT/ }).waitFor();
      await page.getByText('1 organization', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Logged in as admin' }).click();
      await expectAccessible(page);
      await page.keyboard.press('Escape');

      await page.setViewportSize({ width: 320, height: 640 });
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Personal tokens' }).click();
      await page.getByRole('heading', { name: 'Personal tokens' }).waitFor();
      await page.goto(`${site.url}/uc/nothing`);
      await page.getByText('The user center has no page /nothing.').waitFor();
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Console' }).click();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('menuitem', { name: /^User center/ }).click();
      await page.getByRole('heading', { name: 'Profile' }).waitFor();
    });
  });

  test('without the right to personal tokens it names the rule', async () => {
    const password = await site.addUser('rita');
    await site.api('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/svc:personal-tokens');
    await site.visit(
      '/tokens',
      async (page) => {
        await page.getByText(/do not have this rule: list personalaccesstokens/).waitFor();
        await page.getByRole('button', { name: 'New token' }).and(page.locator('[aria-disabled=true]')).focus();
        await page.getByText(/this rule: create personalaccesstokens.uc.api.security.svc.run/).waitFor();
      },
      { user: 'rita', password, at: '/uc' },
    );
  });
});
