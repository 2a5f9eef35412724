import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { startServedPlatform, type ServedPlatform } from './platform/start-test-platform.ts';

const publicUrl = 'https://svc.example.com';
const accessPublicUrl = 'https://access.example.com';
const namespaces = '/api/v1/namespaces';
const sessions = '/api/v1/authentication/sessions/';
const password = 'correct horse battery';

let database: TestDatabase;
let folder: string;
let server: ServedPlatform;

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
  json: any;
}

interface Asked {
  headers?: OutgoingHttpHeaders;
  body?: unknown;
  /** The client's own address. */
  from?: string;
  /** Default: the address of the platform. */
  at?: string;
}

/** Unlike `fetch`, sends path and headers as they are. */
function ask(method: string, path: string, { headers = {}, body, from, at = server.url }: Asked = {}): Promise<Answer> {
  const { hostname, port } = new URL(at);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: hostname,
        port,
        agent: false,
        method,
        path,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(from === undefined ? {} : { localAddress: from }),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('error', reject);
        response.on('end', () => {
          const isJson = response.headers['content-type']?.startsWith('application/json') === true;
          const json = isJson && text !== '' ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode!, headers: response.headers, text, json });
        });
      },
    );
    request.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

interface Session {
  cookie: string;
  csrfToken: string;
}

async function logIn(asked: Asked = {}): Promise<Session> {
  const { headers, json } = await ask('POST', sessions, { body: { username: 'admin', password }, ...asked });
  return {
    cookie: headers['set-cookie']!.map((each) => each.split(';', 1)[0]!).join('; '),
    csrfToken: json.csrf_token,
  };
}

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-one-origin-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Console</title>');
  server = await startServedPlatform(
    database,
    [
      `--svc.security.initial-admin-password=${password}`,
      `--svc.server.public-url=${publicUrl}`,
      `--svc.access.public-url=${accessPublicUrl}`,
      '--svc.http.trusted-proxies=127.0.0.9',
    ],
    { consoleFolder: folder },
  );
});
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true });
  await database?.drop();
});

describe('at the address of the platform', () => {
  test('access management answers as at its own', async () => {
    const { json } = await ask('GET', '/api/openapi.json', { at: server.accessUrl });
    const paths = Object.keys(json.paths).map((path) => path.replaceAll(/\{\w+\}/g, 'x'));
    expect(paths.length).toBeGreaterThan(20);
    const pages = ['/login/', '/login', '/logout/', '/settings/', '/settings/password/', '/assets/pages.js'];
    const files = ['/api/docs/', '/api/docs', '/api/docs/init.js', '/api/v1/users/nothing/here', '/api/docs/none'];
    for (const path of [...paths, ...pages, ...files]) {
      const [here, there] = await Promise.all([ask('GET', path), ask('GET', path, { at: server.accessUrl })]);
      expect([path, here.status, steady(here)]).toEqual([path, there.status, steady(there)]);
    }
  });

  test('the platform answers what is its own', async () => {
    expect((await server.call('GET', namespaces)).body.kind).toBe('NamespaceList');
    expect((await server.call('GET', '/api')).body.kind).toBe('APIVersions');
    expect((await server.call('GET', '/api/v1')).body.kind).toBe('APIResourceList');
    expect((await ask('GET', '/livez')).text).toBe('ok');
    for (const path of ['/api/v1/usersx', '/api/v1/namespaces/default/users', '/metrics'])
      expect([path, (await ask('GET', path)).status]).toEqual([path, 401]);
  });

  test('the console is there, and / leads to it', async () => {
    const root = await ask('GET', '/');
    expect([root.status, root.headers.location]).toEqual([302, './console/']);
    expect((await ask('GET', '/console/g/apps')).text).toContain('<title>Console</title>');
    expect((await ask('GET', '/', { at: server.accessUrl })).headers.location).toBe('/settings/');
  });

  test('links lead to the address that the client called', async () => {
    const headers = { authorization: `Bearer ${await bearerToken()}` };
    const links = async (at?: string): Promise<string> =>
      (await ask('GET', '/api/v1/users/users/?limit=1&offset=1', { headers, ...(at === undefined ? {} : { at }) })).json
        .previous;
    expect(await links()).toMatch(/^https:\/\/svc\.example\.com\/api\/v1\/users\/users\//);
    expect(await links(server.accessUrl)).toMatch(/^https:\/\/access\.example\.com\/api\/v1\/users\/users\//);
  });
});

async function bearerToken(): Promise<string> {
  const { json } = await ask('POST', '/api/v1/authentication/auth/', { body: { username: 'admin', password } });
  return json.token;
}

/** What is the same in two answers to one request. */
function steady({ headers, text }: Answer): unknown {
  const { date: _date, 'x-request-id': _id, 'audit-id': _audit, 'set-cookie': cookies, ...rest } = headers;
  const token = /[\w-]{43}/g;
  return [rest, cookies?.map((cookie) => cookie.replace(token, '')), text.replace(token, '')];
}

describe('a session', () => {
  test('is of both services, from one login', async () => {
    const { cookie, csrfToken } = await logIn({ headers: { origin: server.url } });
    expect((await ask('GET', namespaces, { headers: { cookie } })).json.kind).toBe('NamespaceList');
    expect((await ask('GET', `${sessions}current/`, { headers: { cookie } })).json.user.username).toBe('admin');
    const headers = { cookie, origin: server.url, 'x-csrftoken': csrfToken };
    const name = 'one-origin';
    const made = await ask('POST', namespaces, {
      headers,
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    });
    expect(made.status).toBe(201);
    expect((await ask('DELETE', sessions, { headers })).status).toBe(204);
    expect((await ask('GET', namespaces, { headers: { cookie } })).status).toBe(401);
  });

  test.each<[string, OutgoingHttpHeaders, number]>([
    ['the own page', { origin: 'ADDRESS' }, 201],
    ['a page at the public address, through any proxy', { origin: publicUrl, host: 'inner:8090' }, 201],
    ['a page of the public address of access management', { origin: accessPublicUrl }, 403],
    ['a page elsewhere', { origin: 'https://elsewhere.example' }, 403],
    ['a frame without an origin', { origin: 'null' }, 403],
    ['a browser that says it is elsewhere', { 'sec-fetch-site': 'cross-site' }, 403],
  ])('is changed by %s: %j is %i', async (_reason, sent, status) => {
    const { cookie, csrfToken } = await logIn();
    const headers = {
      cookie,
      'x-csrftoken': csrfToken,
      ...sent,
      ...(sent['origin'] === 'ADDRESS' ? { origin: server.url } : {}),
    };
    const key = { headers, body: {} };
    expect((await ask('POST', '/api/v1/authentication/access-keys/', key)).status).toBe(status);
    const login = { headers: { ...sent, origin: headers['origin'] ?? '' }, body: { username: 'admin', password } };
    if (sent['origin'] !== undefined) expect((await ask('POST', sessions, login)).status).toBe(status);
  });

  test('is not changed without its CSRF token', async () => {
    const { cookie } = await logIn();
    const { status, json } = await ask('POST', '/api/v1/authentication/access-keys/', {
      headers: { cookie, origin: server.url },
      body: {},
    });
    expect([status, json.code]).toEqual([403, 'csrf_failed']);
  });

  test.each([
    ['/console/g/apps', '/console/g/apps'],
    ['//elsewhere.example/', '/settings/'],
    ['/\\elsewhere.example/', '/settings/'],
    ['https://elsewhere.example/', '/settings/'],
    [`${publicUrl}.elsewhere.example/`, '/settings/'],
    ['javascript:alert(1)', '/settings/'],
  ])('begins at the login page, which leads from %s to %s', async (next, target) => {
    const { cookie } = await logIn();
    const { status, headers } = await ask('GET', `/login/?next=${encodeURIComponent(next)}`, { headers: { cookie } });
    expect([status, headers.location]).toEqual([303, target]);
  });

  test('no page may be framed', async () => {
    for (const path of ['/login/', '/settings/', '/console/', '/api/docs/', '/docs', namespaces]) {
      const { headers } = await ask('GET', path);
      expect([path, headers['content-security-policy']]).toEqual([
        path,
        expect.stringContaining("frame-ancestors 'none'"),
      ]);
    }
  });
});

describe('a signed request', () => {
  test.each(['/api/v1/users/profile/', '/api/v1/users/profile/?a=%2f&b=+%20~&a', '/api/v1/users/%70rofile?x=%C3%A9'])(
    'may go to the address of the platform: %s',
    async (target) => {
      const { cookie, csrfToken } = await logIn();
      const { json: key } = await ask('POST', '/api/v1/authentication/access-keys/', {
        headers: { cookie, 'x-csrftoken': csrfToken, origin: server.url },
        body: {},
      });
      const date = new Date().toUTCString();
      const text = `(request-target): get ${target}\naccept: application/json\ndate: ${date}`;
      const signature = createHmac('sha256', key.secret).update(text).digest('base64');
      const headers = {
        accept: 'application/json',
        date,
        authorization: `Signature keyId="${key.id}",algorithm="hmac-sha256",headers="(request-target) accept date",signature="${signature}"`,
      };
      expect((await ask('GET', target, { headers })).json.username).toBe('admin');
      expect((await ask('GET', `${target}x`, { headers })).status).toBe(401);
    },
  );
});

describe("the client's address", () => {
  test.each<[string, string, OutgoingHttpHeaders, string]>([
    ['is that of its connection', '127.0.0.5', {}, '127.0.0.5'],
    ['is not what a client says', '127.0.0.6', { 'x-forwarded-for': '10.1.1.1' }, '127.0.0.6'],
    ['is what a trusted proxy says', '127.0.0.9', { 'x-forwarded-for': '10.1.1.2' }, '10.1.1.2'],
  ])('%s', async (_reason, from, headers, expected) => {
    const { cookie } = await logIn({ from, headers });
    const { json } = await ask('GET', '/api/v1/audits/my-login-logs/?limit=1', { headers: { cookie } });
    expect(json.results[0]).toMatchObject({ remote_addr: expected });
  });
});

test('a duplicate Authorization header is refused as access management refuses it', async () => {
  const headers = { Authorization: ['Bearer a', 'Bearer b'] };
  const { status, json } = await ask('GET', '/api/v1/users/', { headers });
  expect([status, json.code]).toEqual([401, 'authentication_failed']);
});

test('its folder of the console is read once', async () => {
  expect(await readFile(join(folder, 'index.html'), 'utf8')).toContain('Console');
  await writeFile(join(folder, 'later.js'), 'later');
  expect((await ask('GET', '/console/later.js')).text).toContain('<title>Console</title>');
});
