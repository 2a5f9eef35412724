import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite } from './console-site.ts';
import { postDefinition, postsPath } from './posts.ts';

/** Text that becomes a script wherever a page takes it for HTML, and an address that is a script. */
const script = `"'><img src=x onerror=attack()><script>attack()</script>{{attack()}}`;
const address = 'javascript:attack()';
const rbac = '/apis/rbac.authorization.k8s.io/v1';

describeInBrowser('attacks on the console', () => {
  let site: ConsoleSite;
  let elsewhere: Server;
  /** Another site; the same one at another port is `sibling`. */
  let stranger: string;
  let sibling: string;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    elsewhere = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
    await new Promise<void>((resolve) => void elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    stranger = `http://localhost:${port}/`;
    sibling = `http://127.0.0.1:${port}/`;
  });
  afterAll(async () => {
    elsewhere?.close();
    await site?.stop();
  });

  test('no text of an object, a user or the audit becomes a script or a link', async () => {
    const user = await fillWithScripts(site);
    const posts = '/g/blog.example.com/posts';
    await site.visit('/', async (page) => {
      let attacks = 0;
      await page.exposeFunction('attack', () => {
        attacks += 1;
      });
      const pages = [
        `${posts}?ns=default`,
        `${posts}/default/hostile`,
        `${posts}/default/hostile?tab=yaml`,
        `${posts}/default/hostile?tab=form`,
        `${posts}/fields`,
        '/access/users',
        `/access/users/${user}`,
        '/access/organizations',
        '/access/rights?who=onerror',
        '/access/rights?of=access',
        '/access/credentials',
        '/access/changes',
        '/access/logins',
      ];
      for (const path of pages) {
        await page.goto(`${site.url}/console${path}`);
        // A tree shows what is opened.
        if (path.endsWith('/fields')) await page.getByText('spec', { exact: true }).click();
        await page.locator('#content', { hasText: 'onerror=attack()' }).waitFor();
        expect({ path, attacks, elements: await page.evaluate(hostileElements) }).toEqual({
          path,
          attacks: 0,
          elements: [],
        });
      }
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('menuitem').first().waitFor();
      // An editor shows what others typed, and what is pasted into it.
      await page.goto(`${site.url}/console/apply`);
      await page
        .getByRole('textbox')
        .last()
        .fill(`kind: ${JSON.stringify(script)}\napiVersion: v1\nmetadata: {name: a}`);
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText('The server has no').first().waitFor();
      expect([attacks, await page.evaluate(hostileElements)]).toEqual([0, []]);
    });
  });

  test('no page may frame it', async () => {
    await site.visit('/', async (_, context) => {
      for (const origin of [stranger, sibling]) {
        const attacker = await context.newPage();
        await attacker.goto(origin);
        for (const path of ['/console/', '/login/', '/settings/', '/docs'])
          await attacker.evaluate(
            `document.body.append(Object.assign(document.createElement('iframe'), { src: ${JSON.stringify(site.url + path)} }))`,
          );
        await pollUntil(
          () =>
            Promise.resolve(attacker.frames().filter((frame) => frame.url().startsWith('chrome-error:')).length === 4),
          undefined,
          'four frames that the browser refuses',
        );
        await attacker.close();
      }
    });
  });

  test('no page elsewhere acts with the session', async () => {
    await site.visit('/', async (page, context) => {
      const sessionOf = async (): Promise<string | undefined> =>
        (await context.cookies(site.url)).find(({ name }) => name === 'svc_sessionid')?.value;
      const session = await sessionOf();
      for (const origin of [stranger, sibling]) {
        const attacker = await context.newPage();
        await attacker.goto(origin);
        const refused: number[] = [];
        attacker.on('response', (response) => {
          if (response.url().startsWith(site.url)) refused.push(response.status());
        });
        await attacker.evaluate(askedElsewhere(site.url));
        await attacker.evaluate(formElsewhere(site.url));
        // A page that is closed while it is led elsewhere may never be.
        await attacker.waitForURL(`${site.url}/**`);
        await pollUntil(() => Promise.resolve(refused.length >= 5), undefined, 'five answers');
        expect(refused.filter((status) => status < 400)).toEqual([]);
        await attacker.close();
      }
      expect(await sessionOf()).toBe(session);
      expect(await site.accessApi('GET', '/api/v1/users/users/?oid=ROOT&username=mallory')).toEqual([]);
      const bindings = (await site.api('GET', `${rbac}/clusterrolebindings`)) as {
        items: { metadata: { name: string } }[];
      };
      expect(bindings.items.map(({ metadata }) => metadata.name)).not.toContain('mallory');
      // The page itself still can.
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
    });
  });

  test('a token in the URL is no credential, and a link leads nowhere else after the login', async () => {
    const created = await site.api('POST', '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens', {
      metadata: { name: 'in-url' },
      spec: {},
    });
    const { token } = created['status'] as { token: string };
    for (const name of ['access_token', 'token', 'authorization', 'bearer_token']) {
      const answer = await fetch(`${site.url}/api/v1/namespaces?${name}=${token}`);
      await answer.arrayBuffer();
      expect({ name, status: answer.status }).toEqual({ name, status: 401 });
    }
    for (const path of [
      '//evil.example',
      '/console//evil.example/',
      '/console/%2f%2fevil.example/',
      '/console/..//evil.example',
    ]) {
      const answer = await fetch(`${site.url}${path}`, { redirect: 'manual' });
      await answer.arrayBuffer();
      expect({ path, isRefused: answer.status >= 400 }).toEqual({ path, isRefused: true });
    }
    const links = [
      `/?access_token=${token}#access_token=${token}`,
      '/?next=https://evil.example/&url=//evil.example/',
      `/#${address}`,
    ];
    for (const link of links)
      // It waits for the login form, logs in, and fails if the page asks another origin.
      await site.visit(
        link,
        async (page) => {
          expect({ link, origin: new URL(page.url()).origin }).toEqual({ link, origin: site.url });
        },
        { isNewSession: true },
      );
    await site.visit(
      '/',
      async (_, context) => {
        for (const next of ['//evil.example/', 'https://evil.example/', String.raw`/\evil.example/`, address]) {
          await context.clearCookies();
          const page = await context.newPage();
          await page.goto(`${site.url}/login/?next=${encodeURIComponent(next)}`);
          await page.getByLabel(/^Username/).fill('admin');
          await page.getByLabel('Password', { exact: true }).fill(await site.adminPassword());
          await page.keyboard.press('Enter');
          await page.waitForURL((url) => url.pathname !== '/login/');
          expect({ next, origin: new URL(page.url()).origin }).toEqual({ next, origin: site.url });
          await page.close();
        }
      },
      // The page of the visit loses its session again and again.
      { expected: /status of 401/ },
    );
  });
});

/** Elements that only a text that was taken for HTML could make. */
const hostileElements = `[
  ...document.querySelectorAll('img[src="x"], [onerror], a[href^="javascript:" i], #root script, #root iframe'),
].map((element) => element.outerHTML)`;

/** Every field that takes any text has the script. Returns the id of a user. */
async function fillWithScripts(site: ConsoleSite): Promise<string> {
  const definition = structuredClone(postDefinition);
  const version = definition.spec.versions[0]! as unknown as {
    schema: { openAPIV3Schema: { description?: string; properties: { spec: { properties: Record<string, object> } } } };
    additionalPrinterColumns: object[];
  };
  version.schema.openAPIV3Schema.description = script;
  version.schema.openAPIV3Schema.properties.spec.properties['title'] = { type: 'string', description: script };
  version.additionalPrinterColumns.push({ name: script, type: 'string', jsonPath: '.spec.body', description: script });
  await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  const { metadata } = (await site.api('POST', postsPath, {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name: 'hostile', annotations: { script, address } },
    spec: { title: script, body: address },
  })) as { metadata: { uid: string } };
  await site.api('PATCH', `${postsPath}/hostile/status`, {
    status: { conditions: [{ type: script, status: script, reason: script, message: script }] },
  });
  await site.api('POST', '/api/v1/namespaces/default/events', {
    metadata: { name: 'hostile' },
    involvedObject: {
      apiVersion: 'blog.example.com/v1',
      kind: 'Post',
      namespace: 'default',
      name: 'hostile',
      uid: metadata.uid,
    },
    reason: script,
    message: script,
    type: script,
  });
  const { id } = (await site.accessApi('POST', '/api/v1/users/users/', {
    username: 'hostile',
    name: script,
    email: 'hostile@example.com',
    comment: script,
    groups: [script],
  })) as { id: string };
  await site.accessApi('POST', '/api/v1/orgs/orgs/', { name: script, comment: script });
  await site.api('POST', `${rbac}/namespaces/default/rolebindings`, {
    metadata: { name: 'hostile' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: script }],
  });
  await site.api('POST', '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens', {
    metadata: { name: 'hostile' },
    spec: { displayName: script },
  });
  const refused = await fetch(`${site.url}/api/v1/authentication/sessions/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': script },
    body: JSON.stringify({ username: script, password: script }),
  });
  expect(refused.status).toBe(400);
  return id;
}

/** What a page can ask of another origin without its permission: anything that needs no preflight. */
const askedElsewhere = (url: string): string => `Promise.all([
  ['/api/v1/users/users/', { username: 'mallory', name: 'Mallory', email: 'mallory@example.com' }],
  ['/api/v1/authentication/sessions/', { username: 'mallory', password: 'three wet boots' }],
  ['${rbac}/clusterrolebindings', {
    metadata: { name: 'mallory' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'mallory' }],
  }],
  ['/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens', { metadata: { name: 'mallory' }, spec: {} }],
].map(([path, body]) => fetch('${url}' + path, {
  method: 'POST', mode: 'no-cors', credentials: 'include', headers: { 'content-type': 'text/plain' }, body: JSON.stringify(body),
})))`;

const formElsewhere = (url: string): string => `(() => {
  const form = Object.assign(document.createElement('form'), { method: 'POST', action: '${url}/api/v1/users/users/' });
  for (const [name, value] of [['username', 'mallory'], ['name', 'Mallory'], ['email', 'mallory@example.com']])
    form.append(Object.assign(document.createElement('input'), { name, value }));
  document.body.append(form);
  // After the call has ended: it would wait for an answer of a page that is gone.
  setTimeout(() => form.submit());
})()`;
