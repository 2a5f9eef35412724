import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { ConsoleSite, drawPicture, expectAccessible } from './console-site.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const name = 'namespace-makers';

describeInBrowser('access in the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', `${rbac}/clusterroles`, {
      metadata: { name },
      rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'create'] }],
    });
  });
  afterAll(() => site?.stop());

  test('a right that comes or goes while the page is open shows within a minute, and at once after a refusal', async () => {
    const password = await site.addUser('maker');
    await site.visit(
      '/g/core/namespaces',
      async (page) => {
        const create = page.getByRole('button', { name: 'New' });
        const off = create.and(page.locator('[aria-disabled=true]'));
        const on = create.and(page.locator('[aria-disabled=false]'));
        await page.clock.install();
        await page.reload();
        await off.waitFor();
        await site.api('POST', `${rbac}/clusterrolebindings`, {
          metadata: { name },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
          subjects: [{ kind: 'User', name: 'maker' }],
        });
        await page.clock.fastForward(61_000);
        await on.waitFor();
        await on.click();
        await page.getByRole('heading', { name: 'New Namespace' }).waitFor();
        await site.api('DELETE', `${rbac}/clusterrolebindings/${name}`);
        const save = page.getByRole('button', { name: 'Create', exact: true });
        await page.getByRole('textbox').last().click();
        await page.keyboard.press('Control+End');
        await save.click();
        await page.getByRole('alert').waitFor();
        expect(await save.getAttribute('aria-disabled')).toBe('false');
        await page.clock.fastForward(6000);
        await save.and(page.locator('[aria-disabled=true]')).waitFor();
        await page.getByText('Your roles do not have this rule: create namespaces').waitFor({ state: 'attached' });
      },
      { user: 'maker', password },
    );
  });

  test('an administrator makes a user a member of an organization: the user sees exactly that, and the audit has it', async () => {
    const password = 'four dry socks';
    const user = { username: 'mia', name: 'Mia Mohr', email: 'mia@example.com', password };
    await site.accessApi('POST', '/api/v1/users/users/?oid=ROOT', user);
    await site.api('POST', `${rbac}/namespaces/default/rolebindings`, {
      metadata: { name: 'mia' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', name: 'mia' }],
    });
    await site.visit('/access', async (page) => {
      await page.getByRole('heading', { name: 'Users', exact: true }).waitFor();
      await expectAccessible(page);
      const dialog = page.getByRole('dialog');
      await page.getByRole('link', { name: 'Organizations' }).click();
      await page.getByRole('button', { name: 'New organization' }).click();
      await dialog.getByLabel('Name').fill('Press');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Press', exact: true }).waitFor();
      await page.getByRole('button', { name: 'Give a role' }).click();
      await dialog.getByLabel('Username').fill('nobody');
      await dialog.getByRole('button', { name: 'Give' }).click();
      await dialog.getByText('There is no such user.').waitFor();
      await dialog.getByLabel('Username').fill('mia');
      await dialog.getByRole('button', { name: 'Give' }).click();
      await page.getByRole('row', { name: /^Mia Mohr \(mia\) Organization user/ }).waitFor();
      await expectAccessible(page);

      await page.getByRole('link', { name: 'Who may do what' }).click();
      await page.getByRole('link', { name: 'Access management' }).click();
      await page.getByRole('row', { name: /^Mia Mohr \(mia\) Organization user Press/ }).waitFor();
      await expectAccessible(page);

      await site.visit('/access', (other, context) => seeAsMia(other, () => context.clearCookies()), {
        user: 'mia',
        password,
        expected: /status of 401/,
      });

      await page.getByRole('link', { name: 'Changes' }).click();
      await page.getByRole('searchbox', { name: 'Username' }).fill('mia');
      await page.keyboard.press('Enter');
      await page
        .getByRole('row', { name: /mia revoke personal token/ })
        .first()
        .waitFor();
      await page
        .getByRole('row', { name: /mia create personal token/ })
        .first()
        .waitFor();
      await page
        .getByRole('row', { name: /mia delete access key/ })
        .first()
        .waitFor();
      await expectAccessible(page);
      await drawPicture(page, 'console-audit');
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByLabel(/^Kind/).selectOption('role in an organization');
      await page
        .getByRole('row', { name: /admin create role in an organization mia: OrgUser in Press/ })
        .first()
        .waitFor();
      await page.getByRole('link', { name: 'Logins' }).click();
      await page.getByRole('searchbox', { name: 'Username' }).fill('mia');
      await page.getByLabel(/^Reason/).selectOption('wrong password or username');
      await page
        .getByRole('row', { name: /mia wrong password or username/ })
        .first()
        .waitFor();
      await expectAccessible(page);

      await page.getByRole('navigation', { name: 'Users and access' }).getByRole('link', { name: 'Users' }).click();
      await page.getByLabel('Search', { exact: true }).fill('MOHR');
      await page.keyboard.press('Enter');
      await page.getByText('1 user', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Mia Mohr' }).click();
      // What the user may do on the platform, by name and by the role in the organization.
      await page
        .getByRole('row', { name: /^mia User default/ })
        .filter({ hasText: 'view' })
        .waitFor();
      await page
        .getByRole('row', { name: /^Organization user of Press Group/ })
        .filter({ hasText: 'edit' })
        .waitFor();
      await page.getByRole('button', { name: 'Edit' }).click();
      await dialog.getByLabel('Comment').fill('Writes about rain.');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Writes about rain.').waitFor();
      await page.getByRole('button', { name: 'Deactivate' }).click();
      await dialog.getByRole('button', { name: 'Deactivate' }).click();
      await page.getByText('inactive', { exact: true }).waitFor();
      await page
        .getByRole('row', { name: /^Organization user Press/ })
        .getByRole('button', { name: 'Take away' })
        .click();
      await dialog.getByRole('button', { name: 'Take away' }).click();
      await page.getByRole('row', { name: /^Organization user Press/ }).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Delete' }).click();
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('heading', { name: 'Users', exact: true }).waitFor();
    });
  });

  /** What a member of Press sees, who may view `default`. */
  async function seeAsMia(page: Page, logOut: () => Promise<void>): Promise<void> {
    await page.getByRole('heading', { name: 'My tokens, keys and sessions' }).waitFor();
    await expectAccessible(page);
    await useToken(page);
    await useKey(page);
    await page.getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByText(/^Your roles do not have this rule: users.view/).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Organizations' }).click();
    await page.getByRole('link', { name: 'Press' }).click();
    const give = page.getByRole('button', { name: 'Give a role' });
    expect(await give.getAttribute('aria-disabled')).toBe('true');
    const namespace = (await page.getByRole('link', { name: /^org-/ }).textContent())!;
    await page.getByRole('link', { name: 'Logins' }).click();
    await page.getByRole('row', { name: /mia logged in/ }).waitFor();

    const create = page.getByRole('button', { name: 'New', exact: true });
    await page.goto(`${site.url}/console/g/core/configmaps?ns=default`);
    await create.and(page.locator('[aria-disabled=true]')).waitFor();
    await page.goto(`${site.url}/console/g/core/configmaps?ns=${namespace}`);
    await create.and(page.locator('[aria-disabled=false]')).waitFor();
    await logOut();
    await page.reload();
    await page.getByLabel('Username').fill('mia');
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
  }

  async function useToken(page: Page): Promise<void> {
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New token' }).click();
    await dialog.getByLabel('Purpose').fill('Reads');
    await dialog.getByLabel('Limited to').fill('view');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const token = await dialog.getByLabel('Secret').inputValue();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: /Reads valid view/ });
    await row.waitFor();
    expect(await statusWith(token)).toBe(200);
    // Nowhere but in the dialog, which is gone.
    expect(await page.evaluate(everythingKept)).not.toContain(token);
    await row.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: /Reads revoked view/ }).waitFor();
    expect(await statusWith(token)).toBe(401);
  }

  async function useKey(page: Page): Promise<void> {
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New access key' }).click();
    await dialog.getByLabel('Allowed addresses').fill('not an address');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('A list of 1 to 100 entries is expected').waitFor();
    await dialog.getByLabel('Allowed addresses').fill('10.0.0.0/8');
    await dialog.getByRole('button', { name: 'Create' }).click();
    expect(await dialog.getByLabel('Secret').inputValue()).toMatch(/^[0-9A-Za-z]{36}$/);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: /10\.0\.0\.0\/8/ });
    await row.getByRole('button', { name: 'Disable' }).click();
    await row.getByText('disabled', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('You have no access key.').waitFor();
  }

  async function statusWith(token: string): Promise<number> {
    const answer = await fetch(`${site.url}/api/v1/namespaces/default/configmaps`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await answer.arrayBuffer();
    return answer.status;
  }
});

const everythingKept = `JSON.stringify([
  location.href, document.cookie, document.documentElement.outerHTML, history.state,
  { ...localStorage }, { ...sessionStorage }, [...document.querySelectorAll('input')].map(({ value }) => value),
])`;
