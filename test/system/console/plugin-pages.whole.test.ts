import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newPersonalToken } from '#pkg/identity/index';
import { databaseUrlOf, killPrograms, Program, startServe, type Served } from '../../../cmd/svc/start-test-program.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';

const token = newPersonalToken();
const pages = '/apis/console.svc.run/v1alpha1/consolepages';
const plugins = '/apis/plugin.svc.run/v1alpha1/plugins';
const rulesOfStats = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  { apiGroups: ['console.api.board.example.com'], resources: ['greeting'], verbs: ['list'] },
  { apiGroups: ['*'], resources: ['users', 'profile'], verbs: ['*'] },
  { nonResourceURLs: ['/api/v1/*'], verbs: ['*'] },
];
const picture = Buffer.from('89504e470d0a1a0a00ff10', 'hex');

const manifestOf = (name: string): string =>
  JSON.stringify({
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name },
    spec: { version: '1.0.0', enabled: true },
  });
const pageOf = (name: string, file: string, rules: readonly object[] = []): string =>
  JSON.stringify({
    apiVersion: 'console.svc.run/v1alpha1',
    kind: 'ConsolePage',
    metadata: { name },
    spec: { title: 'Board', frame: { file }, rules },
  });

let database: TestDatabase;
let folder: string;
let served: Served;
/** Another API server, which has no plugin itself. */
let other: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-plugin-pages-'));
  await chmod(folder, 0o711);
  await Promise.all([
    writePlugin('board', {
      'plugin.yaml': manifestOf('board'),
      'index.ts': `
        import { defineEndpoint, definePlugin } from '@svc/sdk';
        import greeting from './greeting.html';
        export default definePlugin({ endpoints: [defineEndpoint({ audience: 'console', group: 'board.example.com', version: 'v1',
          method: 'GET', path: '/greeting', handler: async () => ({ greeting }) })] });`,
      'greeting.html': '<p>Hello',
      'presets/pages.yaml': `${pageOf('board', 'board.html')}\n---\n${pageOf('stats', 'stats.html', rulesOfStats)}`,
      'ui/board.html': `<!doctype html><title>Board</title>${'<p>Board'.repeat(50)}`,
      'ui/pictures/logo.png': picture,
      'ui/.hidden.html': 'hidden',
      'pages/stats.ts': `
        import { StatusError } from '@svc/client';
        import { useLive } from '@svc/client/react';
        import './stats.css';
        import words from './words.html';
        document.body.append(words, String(StatusError), String(useLive));`,
      'node_modules/react/index.js': 'exports.useSyncExternalStore = () => "the React of the plugin";',
      'pages/stats.css': 'b { color: red }',
      'pages/words.html': 'words of the page',
      'pages/stats.test.ts': 'no page',
    }),
    writePlugin('broken', {
      'plugin.yaml': manifestOf('broken'),
      'index.ts': `import { definePlugin } from '@svc/sdk'; export default definePlugin({});`,
      'presets/page.yaml': pageOf('lost', 'lost.html'),
    }),
    writePlugin('busy', {
      'plugin.yaml': manifestOf('busy'),
      'index.ts': `import { definePlugin } from '@svc/sdk'; export default definePlugin({});`,
      'presets/commands.yaml': Array.from({ length: 21 }, (_, at) =>
        JSON.stringify({
          apiVersion: 'console.svc.run/v1alpha1',
          kind: 'ConsolePage',
          metadata: { name: `busy-${at}` },
          spec: { title: 'Busy', place: 'command', action: { path: '/apis/api.board.example.com/v1/things' } },
        }),
      ).join('\n---\n'),
    }),
  ]);
  const args = [`--svc.database.url=${databaseUrlOf(database)}`, `--svc.security.initial-admin-token=${token}`];
  served = await startServe(join(folder, 'data'), [...args, `--svc.plugins.dir=${join(folder, 'plugins')}`]);
  const program = new Program(['apiserver', '--svc.server.port=0', `--svc.data.dir=${join(folder, 'other')}`, ...args]);
  other = String((await program.line('ready'))['url']);
  await pollUntil(async () => ['Started', 'Failed'].includes(String(await phaseOf('board'))));
  expect((await api('GET', `${plugins}/board`)).json).toMatchObject({ status: { phase: 'Started' } });
});
afterAll(async () => {
  await killPrograms();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function writePlugin(name: string, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [file, content] of Object.entries(files)) {
    const path = join(folder, 'plugins', name, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
  json: Record<string, never>;
}

/** Unlike `fetch`, sends the path as it is. */
function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const path = url.slice(url.indexOf('/', 'http://'.length));
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const whole = Buffer.concat(chunks);
        const isJson = response.headers['content-type']?.includes('json') === true && whole.length > 0;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: whole,
          json: (isJson ? JSON.parse(whole.toString()) : {}) as Answer['json'],
        });
      });
    });
    request.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** As the administrator. */
function api(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const all = { authorization: `Bearer ${token}`, 'content-type': contentType, ...headers };
  return ask(`${served.url}${path}`, { method, headers: all, body });
}

async function phaseOf(plugin: string): Promise<unknown> {
  const { json } = await api('GET', `${plugins}/${plugin}`);
  return (json as { status?: { phase?: string } }).status?.phase;
}

async function hashOf(page: string): Promise<string | undefined> {
  const { json } = await api('GET', `${pages}/${page}`);
  return (json as { spec?: { frame: { hash: string } } }).spec?.frame.hash;
}

describe('the files of the pages of a plugin', () => {
  test('are served at every API server, to anyone, under a policy of their own', async () => {
    const hash = await hashOf('board');
    expect(hash).toMatch(/^[0-9a-f]{32}$/);
    for (const origin of [served.url, other]) {
      const base = `${origin}/plugin-pages/board/${hash}`;
      const page = await ask(`${base}/board.html`);
      expect([page.status, page.body.toString().slice(0, 36)]).toEqual([200, '<!doctype html><title>Board</title><']);
      expect(page.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'x-dns-prefetch-control': 'off',
        'referrer-policy': 'no-referrer',
        'permissions-policy': expect.stringContaining('camera=()'),
        'document-isolation-policy': 'isolate-and-credentialless',
        etag: `"${hash}"`,
      });
      expect((page.headers['content-security-policy'] as string).split('; ')).toEqual([
        'sandbox allow-scripts',
        "default-src 'none'",
        `script-src ${base}/`,
        `style-src ${base}/`,
        `img-src ${base}/ data:`,
        `font-src ${base}/`,
        "connect-src 'none'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
      ]);
      const zipped = await ask(`${base}/board.html`, { headers: { 'accept-encoding': 'gzip' } });
      expect([zipped.headers['content-encoding'], gunzipSync(zipped.body)]).toEqual(['gzip', page.body]);
      const held = await ask(`${base}/board.html`, { headers: { 'if-none-match': `"${hash}"` } });
      expect([held.status, held.body.length]).toEqual([304, 0]);
      const logo = await ask(`${base}/pictures/logo.png`);
      expect([logo.headers['content-type'], logo.body]).toEqual(['image/png', picture]);
      const head = await ask(`${base}/pictures/logo.png`, { method: 'HEAD' });
      expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '11', 0]);
      expect((await ask(`${base}/board.html`, { method: 'POST' })).status).toBe(405);
    }
  });

  test('are built from pages/, with the client of the server, styles and texts', async () => {
    const base = `${served.url}/plugin-pages/board/${await hashOf('stats')}`;
    const text = async (name: string): Promise<string> => (await ask(`${base}/${name}`)).body.toString();
    expect(await text('stats.html')).toMatch(/<link rel="stylesheet" href="stats.css">.*<script src="stats.js">/);
    expect(await text('stats.css')).toContain('color:red');
    expect(await text('stats.js')).toMatch(/words of the page/);
    expect(await text('stats.js')).toContain('the React of the plugin');
    expect((await ask(`${base}/stats.test.js`)).status).toBe(404);
    const greeting = await api('GET', '/apis/console.api.board.example.com/v1/greeting');
    expect(greeting.json).toEqual({ greeting: '<p>Hello' });
  });

  test('are no list, and no other files', async () => {
    const hash = await hashOf('board');
    const none = [
      `/plugin-pages`,
      `/plugin-pages/board`,
      `/plugin-pages/board/${hash}`,
      `/plugin-pages/board/${hash}/`,
      `/plugin-pages/board/${hash}/pictures`,
      `/plugin-pages/board/${hash}/plugin.yaml`,
      `/plugin-pages/board/${hash}/index.ts`,
      `/plugin-pages/board/${hash}/.hidden.html`,
      `/plugin-pages/board/${hash}/constructor.html`,
      `/plugin-pages/board/${'0'.repeat(32)}/board.html`,
      `/plugin-pages/nobody/${hash}/board.html`,
    ];
    for (const path of none) expect([path, (await ask(`${served.url}${path}`)).status]).toEqual([path, 404]);
    for (const path of ['../plugin.yaml', '%2e%2e/plugin.yaml', '..%2fplugin.yaml', 'pictures/../../plugin.yaml'])
      expect([400, 404]).toContain((await ask(`${served.url}/plugin-pages/board/${hash}/${path}`)).status);
  });
});

test.each([
  [
    'a page whose file is missing',
    'broken',
    'presets/page.yaml, document 1: spec.frame.file: the plugin has no file \\"lost.html\\"',
  ],
  [
    'one command too many',
    'busy',
    'presets/commands.yaml, document 21: spec.place: a plugin may have 20 commands, and no more',
  ],
])('%s stops the start of its plugin, which says so', async (_what, plugin, message) => {
  await pollUntil(async () => (await phaseOf(plugin)) === 'Failed');
  expect(JSON.stringify((await api('GET', `${plugins}/${plugin}`)).json)).toContain(message);
});

test('a page has a frame or content, and buttons that reach endpoints only', async () => {
  const causeOf = async (spec: object): Promise<unknown[]> => {
    const page = JSON.parse(pageOf('wrong', 'a.html')) as object;
    const { status, json } = await api('POST', `${pages}?dryRun=All`, { ...page, spec: { title: 'Wrong', ...spec } });
    const { field, message = '' } = (json as { details?: { causes: { field: string; message: string }[] } }).details
      ?.causes[0] ?? { field: '' };
    return [status, field, /Found (?:none|\d)|should match/.exec(message)?.[0]];
  };
  const text = [{ text: 'Words' }];
  const button = (path: string) => ({ content: [{ buttons: [{ label: 'Do it', path }] }] });
  const frame = { file: 'a.html' };
  expect(await causeOf({ content: text })).toEqual([201, '', undefined]);
  expect(await causeOf({})).toEqual([422, 'spec', 'Found none']);
  expect(await causeOf({ frame, content: text })).toEqual([422, 'spec', 'Found 2']);
  expect(await causeOf({ content: [{ title: 'Nothing' }] })).toEqual([422, 'spec.content[0]', 'Found none']);
  expect(await causeOf(button('/apis/api.board.example.com/v1/posts/first.one/comments'))).toEqual([
    201,
    '',
    undefined,
  ]);
  const place = (value: string, more: object = {}) => ({ place: value, content: text, ...more });
  expect(await causeOf(place('objectTab', { model: 'posts.blog.example.com' }))).toEqual([201, '', undefined]);
  expect(await causeOf(place('overview'))).toEqual([201, '', undefined]);
  expect(await causeOf(place('objectTab'))).toEqual([422, 'spec.model', undefined]);
  expect(await causeOf(place('overview', { model: 'posts' }))).toEqual([422, 'spec.model', undefined]);
  expect(await causeOf(place('userCenter'))).toEqual([422, 'spec.place', undefined]);
  const others = ['/api/v1/namespaces', '/apis/board.example.com/v1/posts', '/apis/api.x.com/v1/../../v1/y', '//api.x'];
  for (const path of others)
    expect([path, ...(await causeOf(button(path)))]).toEqual([
      path,
      422,
      'spec.content[0].buttons[0].path',
      'should match',
    ]);
});

test('an action or a command has its place, and says what it sends', async () => {
  const causesOf = async (spec: object): Promise<unknown> => {
    const page = JSON.parse(pageOf('wrong', 'a.html')) as { spec: object };
    const body = { ...page, spec: { title: 'Wrong', ...spec } };
    const { json } = await api('POST', `${pages}?dryRun=All`, body);
    const { causes = [] } = (json as { details?: { causes: { field: string }[] } }).details ?? {};
    return causes.map(({ field }) => field);
  };
  const path = '/apis/console.api.board.example.com/v1/things/{namespace}/{name}';
  const patch = { spec: { isDone: true } };
  const ofObjects = { place: 'objectAction', model: 'posts.blog.example.com' };
  const frame = { file: 'a.html' };
  const content = (button: object) => ({ content: [{ buttons: [{ label: 'Do it', ...button }] }] });
  const rows: [object, string[]][] = [
    [{ ...ofObjects, action: { path, confirm: 'Sure?', done: 'Done.' } }, []],
    [{ ...ofObjects, action: { patch }, objects: 'one' }, []],
    [{ ...ofObjects, frame }, []],
    [{ place: 'command', frame }, []],
    [{ place: 'command', action: { path: '/apis/api.board.example.com/v1/things', body: { a: 1 } } }, []],
    [{ ...ofObjects, place: 'objectTab', ...content({ patch }) }, []],
    [{ place: 'objectAction', action: { patch } }, ['spec.model']],
    [{ place: 'command', model: 'posts.blog.example.com', frame }, ['spec.model']],
    [{ place: 'command', objects: 'many', frame }, ['spec.objects']],
    [{ place: 'command', action: { patch } }, ['spec.action.patch']],
    [{ place: 'command', action: { path } }, ['spec.action.path']],
    [{ place: 'page', action: { path: '/apis/api.board.example.com/v1/things' } }, ['spec.place']],
    [{ ...ofObjects, content: [{ text: 'Words' }] }, ['spec.place']],
    [content({ patch }), ['spec.content[0].buttons[0].patch']],
    [{ ...ofObjects, action: { patch, body: {} } }, ['spec.action.body']],
    [{ ...ofObjects, action: { patch: { spec: 'x'.repeat(10_000) } } }, ['spec.action.patch']],
    [{ ...ofObjects, action: { patch: { metadata: 'x' } } }, ['spec.action.patch.metadata']],
    [{ ...ofObjects, action: { patch: {} } }, ['spec.action.patch']],
    [{ ...ofObjects, action: { path, patch } }, ['spec.action']],
    [{ ...ofObjects, action: { confirm: 'Sure?' } }, ['spec.action']],
    [{ ...ofObjects, action: { patch }, frame }, ['spec']],
    [{ ...ofObjects, action: { path: '/api/v1/namespaces' } }, ['spec.action.path']],
    [{ place: 'command', frame, title: 'Overview\u202e' }, ['spec.title']],
    [{ place: 'command', frame, title: 'Overview\nplugin svc' }, ['spec.title']],
    [{ place: 'command', frame, title: 'x'.repeat(101) }, ['spec.title']],
    [{ ...ofObjects, action: { patch, confirm: 'x'.repeat(1001) } }, ['spec.action.confirm']],
  ];
  for (const [spec, fields] of rows) expect([spec, await causesOf(spec)]).toEqual([spec, fields]);
});

test('the rules of a page are those of a role', async () => {
  const { status, json } = await api('POST', pages, JSON.parse(pageOf('wrong', 'a.html', [{ verbs: ['get'] }])));
  expect([status, (json as { details?: { causes: { field: string }[] } }).details?.causes[0]?.field]).toEqual([
    422,
    'spec.rules[0].apiGroups',
  ]);
});

test('a request of a page is restricted to its rules, in endpoints too, and the audit names page and plugin', async () => {
  const through = { 'X-SVC-Page': 'stats' };
  const greeting = '/apis/console.api.board.example.com/v1/greeting';
  expect((await api('GET', greeting, undefined, through)).status).toBe(200);
  expect((await api('GET', greeting, undefined, { 'X-SVC-Page': 'board' })).status).toBe(403);
  for (const origin of [served.url, served.accessUrl]) {
    const headers = { authorization: `Bearer ${token}`, ...through };
    expect([403, 404]).toContain((await ask(`${origin}/api/v1/users/profile/`, { headers })).status);
    expect([401, 403]).toContain((await ask(`${origin}/login/`, { headers: through })).status);
  }
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' } };
  const written = await api('POST', '/api/v1/namespaces/default/configmaps', map, through);
  expect(written.status).toBe(201);
  const { json } = await api('GET', `/apis/audit.k8s.io/v1/events?auditID=${String(written.headers['audit-id'])}`);
  expect((json as { items?: unknown }).items).toMatchObject([
    {
      user: {
        extra: {
          'authentication.svc.run/page': ['stats'],
          'authentication.svc.run/plugin-of-page': ['board'],
        },
      },
    },
  ]);
});

test('a change of a file is a change of the page; when the plugin stops, both are gone', async () => {
  const before = await hashOf('board');
  await writePlugin('board', { 'ui/board.html': 'changed' });
  await pollUntil(async () => (await hashOf('board')) !== before);
  const path = `/plugin-pages/board/${await hashOf('board')}/board.html`;
  expect((await ask(`${other}${path}`)).body.toString()).toBe('changed');
  await api('PATCH', `${plugins}/board`, { spec: { enabled: false } });
  await pollUntil(async () => (await phaseOf('board')) === 'Disabled');
  expect((await api('GET', `${pages}/board`)).status).toBe(404);
  await pollUntil(async () => (await ask(`${other}${path}`)).status === 404);
});
