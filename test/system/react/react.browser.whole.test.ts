import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import type { Browser, Page, Request } from 'playwright-core';
import { complaintsOf, startBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { startTestRbac, testUser, type TestRbac } from '../../../pkg/apiserver/authorization/start-test-rbac.ts';
import { pollUntil, waitMs } from '../../../pkg/testenv/faults/poll-until.ts';
import { buildForBrowsers } from '../../../hack/builds/bundle-client.mjs';
import type { TestPage, View } from './page.ts';

const posts = '/apis/react.example.com/v1/posts';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'posts.react.example.com' },
  spec: {
    group: 'react.example.com',
    scope: 'Cluster',
    names: { plural: 'posts', singular: 'post', kind: 'Post' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { title: { type: 'string' }, owner: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
};

describeInBrowser('hooks in a page', () => {
  let server: TestRbac;
  let browser: Browser;
  let script: string;
  let page: Page;
  let complaints: string[];
  /** Requests that have no end yet, and how many lists there were. */
  let open: Set<Request>;
  let lists: number;

  const call = async (method: string, path: string, body?: object): Promise<void> => {
    const type = method === 'PATCH' ? { 'Content-Type': 'application/merge-patch+json' } : {};
    const { status, body: answer } = await server.call('root', method, path, body, type);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
  };
  const create = (name: string, title: string): Promise<void> =>
    call('POST', posts, {
      apiVersion: 'react.example.com/v1',
      kind: 'Post',
      metadata: { name },
      spec: { title, owner: 'nobody' },
    });
  const change = (name: string, spec: object): Promise<void> => call('PATCH', `${posts}/${name}`, { spec });
  const show = (view: View): Promise<void> =>
    page.evaluate((given) => (globalThis as unknown as { page: TestPage }).page.show(given), view);
  const shows = async (selector: string, text: string): Promise<void> => {
    const read = async (): Promise<string | null> => {
      const found = page.locator(selector);
      return (await found.count()) === 0 ? null : found.textContent();
    };
    await pollUntil(async () => (await read()) === text, waitMs(), `${selector} to show ${JSON.stringify(text)}`);
  };
  const begin = (user: string): Promise<void> =>
    page.evaluate((token) => (globalThis as unknown as { page: TestPage }).page.begin(token), user);

  beforeAll(async () => {
    [server, browser] = await Promise.all([startTestRbac(), startBrowser()]);
    await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    await pollUntil(
      async () => (await server.call('root', 'GET', posts)).status === 200,
      60_000,
      'the model to be served',
    );
    // A folder with another React in its node_modules, such as React 18.
    const react = process.env['SVC_TEST_REACT'];
    const [module] = await buildForBrowsers({
      entryPoints: [fileURLToPath(new URL('page.ts', import.meta.url))],
      format: 'iife',
      define: { 'process.env.NODE_ENV': '"development"' },
      ...(react === undefined
        ? {}
        : { alias: { react: `${react}/node_modules/react`, 'react-dom': `${react}/node_modules/react-dom` } }),
    });
    script = module!.text;
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  beforeEach(async () => {
    page = await browser.newPage();
    complaints = complaintsOf(page, server.url);
    open = new Set();
    lists = 0;
    page.on('request', (request) => {
      open.add(request);
      if (request.method() === 'GET' && request.url().includes('limit=')) lists += 1;
    });
    for (const end of ['requestfinished', 'requestfailed'] as const)
      page.on(end as 'requestfinished', (request) => void open.delete(request));
    // The page is at the server's origin.
    await page.route(`${server.url}/page`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Posts</title><div id="root"></div>' }),
    );
    await page.goto(`${server.url}/page`);
    await page.evaluate(script);
    await begin('root');
  });
  afterEach(async () => {
    expect(complaints).toEqual([]);
    await page.close();
  });

  const streamsEnd = (): Promise<void> => pollUntil(() => open.size === 0, waitMs(), 'every request to end');

  test('a list follows its objects and its query, and ends with its component', async () => {
    await create('list-1', 'one');
    await show({ lists: { prefix: 'list-', copies: 2 } });
    await shows('#list0[data-state=live]', 'list-1=one');
    await shows('#list1[data-state=live]', 'list-1=one');
    expect(lists).toBe(1);
    await create('list-2', 'two');
    await shows('#list0', 'list-1=one list-2=two');
    await change('list-1', { title: 'first' });
    await shows('#list1', 'list-1=first list-2=two');
    await show({ lists: { prefix: 'list-2', copies: 1 } });
    await shows('#list0[data-state=live]', 'list-2=two');
    await call('DELETE', `${posts}/list-2`);
    await shows('#list0', '');
    await show({});
    await streamsEnd();
  });

  test('a hundred mounts leave nothing behind', async () => {
    for (let round = 0; round < 100; round += 1) {
      await show({ lists: { prefix: `many-${round % 3}`, copies: 2 }, editor: 'many', verbs: ['get'] });
      if (round % 10 === 0) await page.locator('#list0[data-state=live]').waitFor({ state: 'attached' });
      await show({});
    }
    expect(lists).toBeGreaterThanOrEqual(10);
    await streamsEnd();
  });

  test('an edit takes in what others save, and hands out conflicts', async () => {
    await create('edited', 'title');
    await show({ editor: 'edited' });
    await shows('#stored', 'title');
    await page.fill('#title', 'mine');
    await shows('#facts', 'changed');
    await change('edited', { owner: 'leo' });
    await shows('#owner', 'leo');
    expect(await page.inputValue('#title')).toBe('mine');
    await page.click('#save');
    await shows('#stored', 'mine');
    await shows('#facts', 'same');
    await page.fill('#title', 'mine again');
    await change('edited', { title: 'theirs' });
    await shows('#conflicts', 'spec.title: "theirs"');
    await page.click('#save');
    await shows('#failure', '409 Conflict');
    await page.click('#mine');
    await page.click('#save');
    await shows('#stored', 'mine again');
    await shows('#failure', '');
    await page.click('#break');
    await page.click('#save');
    await shows('#failure', '422 Invalid');
    expect(await page.textContent('#error')).toContain('string');
    await page.click('#reset');
    await shows('#error', '');
    expect(await page.inputValue('#title')).toBe('mine again');
  });

  test('another object is another edit, and a draft outlives its object', async () => {
    await create('first', 'one');
    await create('second', 'two');
    await show({ editor: 'first' });
    await shows('#stored', 'one');
    await page.fill('#title', 'changed');
    await show({ editor: 'second' });
    await shows('#stored', 'two');
    expect(await page.inputValue('#title')).toBe('two');
    await page.fill('#title', 'kept');
    await call('DELETE', `${posts}/second`);
    await shows('#stored', 'nothing');
    expect(await page.inputValue('#title')).toBe('kept');
  });

  test('lost rights show: in the state of a list, and by useCan', async () => {
    server.users.set('ada', testUser('ada'));
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' };
    await call('POST', `${rbac}/clusterroles`, {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: ['react.example.com'], resources: ['posts'], verbs: ['list', 'watch'] }],
    });
    await call('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name: 'readers' },
      roleRef,
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ada' }],
    });
    await create('secret', 'told');
    await begin('ada');
    await show({ lists: { prefix: 'secret', copies: 1 }, verbs: ['list', 'delete'] });
    await shows('#list0[data-state=live]', 'secret=told');
    await shows('#list', 'true');
    await shows('#delete', 'false');
    await call('DELETE', `${rbac}/clusterrolebindings/readers`);
    await page.locator('#list0[data-state=stale][data-code="403"]').waitFor();
    await show({});
    await streamsEnd();
  });
});
