import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, startServe, type Served } from '../start-test-program.ts';

const password = 'Nobody-guesses-this-41';
const auth = '/api/v1/authentication/auth/';
const profile = '/api/v1/users/profile/';
const tokens = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
/** Concurrent bodies of anonymous clients from one address. */
const maxSenders = 16;

type Headers = Record<string, string>;

let home: TestDatabase;
let folder: string;
let served: Served;
/** Credentials of the administrator, one of each kind. */
let bearer: Headers;
let session: Session;
let accessKey: { id: string; secret: string };

interface Session {
  cookie: string;
  csrfToken: string;
}

/**
 * Both services as in production, behind a proxy on this machine; the limit is one wrong credential per address and
 * minute.
 */
beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-strangers-'));
  const options = {
    'svc.database.url': databaseUrlOf(home),
    'svc.security.initial-admin-password': password,
    'svc.http.trusted-proxies': '127.0.0.1',
    'svc.http.max-wrong-credentials': 1,
  };
  served = await startServe(
    join(folder, 'data'),
    Object.entries(options).map(([name, value]) => `--${name}=${value}`),
  );
  bearer = await logIn('198.51.100.1');
  session = await beginSession('198.51.100.1');
  accessKey = (await (
    await onAccess('POST', '/api/v1/authentication/access-keys/', { headers: bearer, body: {} })
  ).json()) as typeof accessKey;
});
afterAll(async () => {
  await killPrograms();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

interface Options {
  /** The client address that the proxy reports. */
  from?: string;
  headers?: Headers;
  body?: object | URLSearchParams;
}

function ask(
  url: string,
  method: string,
  path: string,
  { from = '198.51.100.1', headers = {}, body }: Options = {},
): Promise<Response> {
  const isForm = body instanceof URLSearchParams;
  return fetch(`${url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      'X-Forwarded-For': from,
      ...(body === undefined || isForm ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
}
const onAccess = (...asked: [method: string, path: string, options?: Options]): Promise<Response> =>
  ask(served.accessUrl, ...asked);
const onPlatform = (...asked: [method: string, path: string, options?: Options]): Promise<Response> =>
  ask(served.url, ...asked);
const statusOf = async (answer: Promise<Response>): Promise<number> => {
  const { status, body } = await answer;
  await body?.cancel();
  return status;
};

async function logIn(from: string): Promise<Headers> {
  const answer = await onAccess('POST', auth, { from, body: { username: 'admin', password } });
  return { Authorization: `Bearer ${((await answer.json()) as { token: string }).token}` };
}

/** Logs in with the form of the login page. */
async function beginSession(from: string): Promise<Session> {
  const cookieOf = (answer: Response, name: string): string =>
    answer.headers
      .getSetCookie()
      .find((cookie) => cookie.startsWith(`${name}=`))!
      .split(/[=;]/)[1]!;
  const form = cookieOf(await onAccess('GET', '/login/', { from }), 'svc_loginform');
  const answer = await onAccess('POST', '/login/', {
    from,
    headers: { Cookie: `svc_loginform=${form}` },
    body: new URLSearchParams({ username: 'admin', password, csrfmiddlewaretoken: form }),
  });
  return { cookie: `svc_sessionid=${cookieOf(answer, 'svc_sessionid')}`, csrfToken: cookieOf(answer, 'svc_csrftoken') };
}

function signed(): Headers {
  const date = new Date().toUTCString();
  const signature = createHmac('sha256', accessKey.secret)
    .update(`(request-target): get ${profile}\ndate: ${date}`)
    .digest('base64');
  return {
    Date: date,
    Authorization: `Signature keyId="${accessKey.id}",algorithm="hmac-sha256",headers="(request-target) date",signature="${signature}"`,
  };
}

/** The statuses of all credentials and of a login, from this address. */
async function askAll(from: string): Promise<Record<string, number>> {
  const answers = {
    bearer: onAccess('GET', profile, { from, headers: bearer }),
    session: onAccess('GET', profile, { from, headers: { Cookie: session.cookie } }),
    signature: onAccess('GET', profile, { from, headers: signed() }),
    login: onAccess('GET', '/login/', { from }),
    platformSession: onPlatform('GET', '/api/v1/namespaces', { from, headers: { Cookie: session.cookie } }),
    personalToken: onPlatform('GET', '/api/v1/namespaces', {
      from,
      headers: { Authorization: `Bearer ${served.token}` },
    }),
    docs: onPlatform('GET', '/docs', { from }),
    version: onPlatform('GET', '/version', { from }),
  };
  return Object.fromEntries(
    await Promise.all(Object.entries(answers).map(async ([name, answer]) => [name, await statusOf(answer)] as const)),
  );
}
const allServed = {
  bearer: 200,
  session: 200,
  signature: 200,
  login: 200,
  platformSession: 200,
  personalToken: 200,
  docs: 200,
  version: 200,
};

/**
 * Sends requests with one byte of their bodies; resolves when the server holds as many as one address may have, and has
 * refused the others.
 */
async function sendSlowly(path: string, { count, from }: { count: number; from: string }): Promise<Socket[]> {
  const { port, host } = new URL(served.accessUrl);
  const sockets = Array.from({ length: count }, () => connect(Number(port), '127.0.0.1').on('error', () => undefined));
  await new Promise<void>((resolve) => {
    let refused = 0;
    for (const socket of sockets) {
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-For: ${from}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
      );
      socket.once('data', (head: Buffer) => {
        expect(head.toString()).toMatch(/^HTTP\/1.1 429 /);
        refused += 1;
        if (refused === count - maxSenders) resolve();
      });
    }
  });
  return sockets;
}

test('33 slow bodies of anonymous clients behind one proxy lock out nobody', async () => {
  // The signature was verified before, so it is known.
  expect(await askAll('192.0.2.1')).toEqual(allServed);
  const sockets = await sendSlowly(auth, { count: 33, from: '192.0.2.1' });
  expect(await askAll('192.0.2.2')).toEqual(allServed);
  expect(await askAll('192.0.2.1')).toEqual(allServed);
  for (const socket of sockets) socket.destroy();
});

describe('wrong credentials of an address', () => {
  const wrong = (): string => randomBytes(18).toString('hex');
  const uuid = '00000000-1111-4222-8333-444444444444';
  const forms: [form: string, service: 'access' | 'platform', headers: () => Headers][] = [
    ['Bearer tokens', 'access', () => ({ Authorization: `Bearer ${wrong()}` })],
    ['private tokens', 'access', () => ({ Authorization: `Token ${wrong()}0000` })],
    [
      'signatures',
      'access',
      () => ({
        ...signed(),
        Authorization: `Signature keyId="${uuid}",algorithm="hmac-sha256",headers="(request-target) date",signature="${wrong()}"`,
      }),
    ],
    ['sessions', 'access', () => ({ Cookie: `svc_sessionid=${wrong()}` })],
    ['sessions', 'platform', () => ({ Cookie: `svc_sessionid=${wrong()}` })],
    ['personal tokens', 'platform', () => ({ Authorization: `Bearer pat_${wrong()}` })],
    ['signatures, which it does not take', 'platform', signed],
  ];

  test.each(forms)(
    '%s, on %s: beyond the limit they get 429, and known users and logins are not affected',
    async (form, service, headers) => {
      const from = `192.0.2.${10 + forms.findIndex(([one, of]) => one === form && of === service)}`;
      expect(await askAll(from)).toEqual(allServed);
      const guess = (): Promise<number> =>
        statusOf(
          service === 'access'
            ? onAccess('GET', profile, { from, headers: headers() })
            : onPlatform('GET', '/api/v1/namespaces', { from, headers: headers() }),
        );
      expect([await guess(), await guess()]).toEqual([401, 429]);
      expect(await askAll(from)).toEqual(allServed);
      // The first request of each newly created credential, at either service.
      expect(await statusOf(onAccess('GET', profile, { from, headers: await logIn(from) }))).toBe(200);
      const { cookie, csrfToken } = await beginSession(from);
      const made = await onPlatform('POST', tokens, {
        from,
        headers: { Cookie: cookie, 'X-CSRFToken': csrfToken, Origin: served.accessUrl },
        body: {},
      });
      expect(made.status).toBe(201);
      const { status } = (await made.json()) as { status: { token: string } };
      expect(
        await statusOf(
          onPlatform('GET', '/api/v1/namespaces', { from, headers: { Authorization: `Bearer ${status.token}` } }),
        ),
      ).toBe(200);
      expect(await guess()).toBe(429);
    },
  );
});
