import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hasBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { ConsoleSite } from './console-site.ts';

if (!hasBrowser) test.skip('WARNING: THE CONSOLE IS NOT TESTED: there is no chromium', () => undefined);

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const name = 'namespace-makers';

(hasBrowser ? describe : describe.skip)('access in the console', () => {
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
});
