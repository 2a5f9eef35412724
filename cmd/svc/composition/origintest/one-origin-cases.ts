import { createHmac } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { describe, expect, test } from '@jest/globals';

/** Options of the servers that these cases are about. */
export const oneOriginOptions = {
  publicUrl: 'https://svc.example.com',
  accessPublicUrl: 'https://access.example.com',
  password: 'correct horse battery',
  /** A proxy. */
  trustedProxy: '127.0.0.9',
};
const { publicUrl, accessPublicUrl, password, trustedProxy } = oneOriginOptions;
const namespaces = '/api/v1/namespaces';
const sessions = '/api/v1/authentication/sessions/';

/** Claims without a key. */
export const forgedProofs = [
  '',
  '.',
  '127.0.0.1',
  'e30.AAAA',
  `${Buffer.from(JSON.stringify({ at: Date.now(), clientAddress: '10.9.9.9', origin: publicUrl })).toString('base64url')}.${'A'.repeat(43)}`,
];

/** The servers. */
export interface OneOrigin {
  /** Of the content platform, which has a console. */
  url: string;
  accessUrl: string;
  /** The administrator's personal token. */
  token: string;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
  json: any;
}

export interface Asked {
  headers?: OutgoingHttpHeaders;
  body?: unknown;
  /** The client's own address. */
  from?: string;
}

/** Unlike `fetch`, sends path and headers as they are. */
export function ask(
  url: string,
  method: string,
  path: string,
  { headers = {}, body, from }: Asked = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url);
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

export interface LoggedIn {
  cookie: string;
  csrfToken: string;
}

/** A session of the administrator. */
export async function logIn(url: string, asked: Asked = {}): Promise<LoggedIn> {
  const { headers, json } = await ask(url, 'POST', sessions, { body: { username: 'admin', password }, ...asked });
  return {
    cookie: headers['set-cookie']!.map((each) => each.split(';', 1)[0]!).join('; '),
    csrfToken: json.csrf_token,
  };
}

/** What a person and their programs do at one address, wherever access management runs. `servers` are there once tests run. */
export function describeOneOrigin(servers: () => OneOrigin): void {
  describe('at the address of the platform', () => {
    test('access management answers as at its own', async () => {
      const { json } = await ask(servers().accessUrl, 'GET', '/api/openapi.json');
      const paths = Object.keys(json.paths).map((path) => path.replaceAll(/\{\w+\}/g, 'x'));
      expect(paths.length).toBeGreaterThan(20);
      const pages = ['/login/', '/login', '/logout/', '/settings/', '/settings/password/', '/assets/pages.js'];
      const files = ['/api/docs/', '/api/docs', '/api/docs/init.js', '/api/v1/users/nothing/here', '/api/docs/none'];
      for (const path of [...paths, ...pages, ...files]) {
        const [here, there] = await Promise.all([
          ask(servers().url, 'GET', path),
          ask(servers().accessUrl, 'GET', path),
        ]);
        expect([path, here.status, steady(here)]).toEqual([path, there.status, steady(there)]);
      }
    });

    test('the platform answers what is its own', async () => {
      const headers = { authorization: `Bearer ${servers().token}` };
      const kindOf = async (path: string): Promise<unknown> =>
        (await ask(servers().url, 'GET', path, { headers })).json.kind;
      expect(await kindOf(namespaces)).toBe('NamespaceList');
      expect(await kindOf('/api')).toBe('APIVersions');
      expect(await kindOf('/api/v1')).toBe('APIResourceList');
      expect((await ask(servers().url, 'GET', '/livez')).text).toBe('ok');
      for (const path of ['/api/v1/usersx', '/api/v1/namespaces/default/users', '/metrics'])
        expect([path, (await ask(servers().url, 'GET', path)).status]).toEqual([path, 401]);
    });

    test('the console and the user center are there, and / leads to the console', async () => {
      const root = await ask(servers().url, 'GET', '/');
      expect([root.status, root.headers.location]).toEqual([302, './console/']);
      expect((await ask(servers().url, 'GET', '/console/g/apps')).text).toContain('<title>Console</title>');
      expect((await ask(servers().url, 'GET', '/uc/tokens')).text).toContain('<title>User center</title>');
      expect((await ask(servers().accessUrl, 'GET', '/')).headers.location).toBe('/settings/');
    });

    test('links lead to the address that the client called', async () => {
      const headers = { authorization: `Bearer ${await bearerToken()}` };
      const links = async (at: string): Promise<string> =>
        (await ask(at, 'GET', '/api/v1/users/users/?limit=1&offset=1', { headers })).json.previous;
      expect(await links(servers().url)).toMatch(/^https:\/\/svc\.example\.com\/api\/v1\/users\/users\//);
      expect(await links(servers().accessUrl)).toMatch(/^https:\/\/access\.example\.com\/api\/v1\/users\/users\//);
    });
  });

  async function bearerToken(): Promise<string> {
    const { json } = await ask(servers().url, 'POST', '/api/v1/authentication/auth/', {
      body: { username: 'admin', password },
    });
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
      const { cookie, csrfToken } = await logIn(servers().url, { headers: { origin: servers().url } });
      expect((await ask(servers().url, 'GET', namespaces, { headers: { cookie } })).json.kind).toBe('NamespaceList');
      expect((await ask(servers().url, 'GET', `${sessions}current/`, { headers: { cookie } })).json.user.username).toBe(
        'admin',
      );
      // The user center is next to the console.
      const linksOf = async (at: string): Promise<string> =>
        (await ask(at, 'GET', '/settings/', { headers: { cookie } })).text;
      expect(await linksOf(servers().url)).toContain('<a href="/uc/">User center</a>');
      expect(await linksOf(servers().accessUrl)).not.toContain('/uc/');
      const headers = { cookie, origin: servers().url, 'x-csrftoken': csrfToken };
      const name = 'one-origin';
      const made = await ask(servers().url, 'POST', namespaces, {
        headers,
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      });
      expect(made.status).toBe(201);
      expect((await ask(servers().url, 'DELETE', sessions, { headers })).status).toBe(204);
      expect((await ask(servers().url, 'GET', namespaces, { headers: { cookie } })).status).toBe(401);
    });

    test.each<[string, OutgoingHttpHeaders, number]>([
      ['the own page', { origin: 'ADDRESS' }, 201],
      ['a page at the public address, through any proxy', { origin: publicUrl, host: 'inner:8090' }, 201],
      ['a page of the public address of access management', { origin: accessPublicUrl }, 403],
      ['a page elsewhere', { origin: 'https://elsewhere.example' }, 403],
      ['a frame without an origin', { origin: 'null' }, 403],
      ['a browser that says it is elsewhere', { 'sec-fetch-site': 'cross-site' }, 403],
    ])('is changed by %s: %j is %i', async (_reason, sent, status) => {
      const { cookie, csrfToken } = await logIn(servers().url);
      const headers = {
        cookie,
        'x-csrftoken': csrfToken,
        ...sent,
        ...(sent['origin'] === 'ADDRESS' ? { origin: servers().url } : {}),
      };
      const key = { headers, body: {} };
      expect((await ask(servers().url, 'POST', '/api/v1/authentication/access-keys/', key)).status).toBe(status);
      const login = { headers: { ...sent, origin: headers['origin'] ?? '' }, body: { username: 'admin', password } };
      if (sent['origin'] !== undefined) expect((await ask(servers().url, 'POST', sessions, login)).status).toBe(status);
    });

    test('is not changed without its CSRF token', async () => {
      const { cookie } = await logIn(servers().url);
      const { status, json } = await ask(servers().url, 'POST', '/api/v1/authentication/access-keys/', {
        headers: { cookie, origin: servers().url },
        body: {},
      });
      expect([status, json.code]).toEqual([403, 'csrf_failed']);
    });

    test.each([
      ['/console/g/apps', '/console/g/apps'],
      ['/uc/tokens', '/uc/tokens'],
      ['//elsewhere.example/', '/settings/'],
      ['/\\elsewhere.example/', '/settings/'],
      ['https://elsewhere.example/', '/settings/'],
      [`${publicUrl}.elsewhere.example/`, '/settings/'],
      ['javascript:alert(1)', '/settings/'],
    ])('begins at the login page, which leads from %s to %s', async (next, target) => {
      const { cookie } = await logIn(servers().url);
      const { status, headers } = await ask(servers().url, 'GET', `/login/?next=${encodeURIComponent(next)}`, {
        headers: { cookie },
      });
      expect([status, headers.location]).toEqual([303, target]);
    });

    test('no page may be framed', async () => {
      for (const path of ['/login/', '/settings/', '/console/', '/uc/', '/api/docs/', '/docs', namespaces]) {
        const { headers } = await ask(servers().url, 'GET', path);
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
        const { cookie, csrfToken } = await logIn(servers().url);
        const { json: key } = await ask(servers().url, 'POST', '/api/v1/authentication/access-keys/', {
          headers: { cookie, 'x-csrftoken': csrfToken, origin: servers().url },
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
        expect((await ask(servers().url, 'GET', target, { headers })).json.username).toBe('admin');
        expect((await ask(servers().url, 'GET', `${target}x`, { headers })).status).toBe(401);
      },
    );
  });

  describe("the client's address", () => {
    test.each<[string, string, OutgoingHttpHeaders, string]>([
      ['is that of its connection', '127.0.0.5', {}, '127.0.0.5'],
      ['is not what a client says', '127.0.0.6', { 'x-forwarded-for': '10.1.1.1' }, '127.0.0.6'],
      ['is what a trusted proxy says', trustedProxy, { 'x-forwarded-for': '10.1.1.2' }, '10.1.1.2'],
    ])('%s', async (_reason, from, headers, expected) => {
      const { cookie } = await logIn(servers().url, { from, headers });
      const { json } = await ask(servers().url, 'GET', '/api/v1/audits/my-login-logs/?limit=1', {
        headers: { cookie },
      });
      expect(json.results[0]).toMatchObject({ remote_addr: expected });
    });

    test.each(forgedProofs)('is not what a client claims to have proven: %s', async (text) => {
      const headers = { 'x-svc-forwarded': text };
      const { status, json } = await ask(servers().accessUrl, 'GET', '/login/', { headers });
      expect([status, json]).toEqual([
        400,
        { detail: expect.stringContaining('X-SVC-Forwarded'), code: 'parse_error' },
      ]);
    });
  });
}
