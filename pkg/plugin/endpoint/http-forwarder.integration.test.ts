import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { EndpointCall } from './endpoint-call.ts';
import { HttpForwarder } from './http-forwarder.ts';
import { ServerIdentity } from './signature/server-identity.ts';
import { endpoint, silent, startTestEndpoints, until, type TestEndpointEnv } from './start-test-endpoints.ts';

const path = '/apis/api.blog.example.com/v1/lost';
const result = { 'content-type': 'application/vnd.svc.endpoint-result' };
const ok = { status: 200, headers: {}, body: '[]' };

let test1: TestEndpointEnv;
/** Listens at the host's address instead of the host. */
let impostor: Server;
let respond: (response: ServerResponse, request: IncomingMessage) => void;
let seen: { url: string | undefined; signature: string; body: Buffer }[] = [];

beforeAll(async () => {
  test1 = await startTestEndpoints({ replicas: 1 });
  impostor = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      seen.push({
        url: request.url,
        signature: String(request.headers['x-svc-signature']),
        body: Buffer.concat(chunks),
      });
      respond(response, request);
    });
  });
  await new Promise<void>((resolve) => {
    impostor.listen(0, '127.0.0.1', resolve);
  });
  respond = (response) => response.end();
  await test1.set('lost', {
    phase: 'Started',
    endpoints: [endpoint({ path: '/lost', operationId: 'find', method: 'POST', body: {} })],
    host: { url: impostorUrl() },
  });
  await until(async () => (await test1.ask(path, { method: 'POST' })).status === 503);
});
afterAll(async () => {
  impostor.closeAllConnections();
  impostor.close();
  await test1.stop();
});
beforeEach(() => {
  seen = [];
  test1.host.calls = [];
  respond = (response) => response.end();
});

function impostorUrl(): string {
  return `http://127.0.0.1:${(impostor.address() as AddressInfo).port}`;
}

describe('a response that is not from a host', () => {
  test.each<[string, (response: ServerResponse) => unknown]>([
    ['a redirect', (response) => response.writeHead(302, { location: `${impostorUrl()}/elsewhere` }).end()],
    ['a 401', (response) => response.writeHead(401).end()],
    ['a 502 of a proxy', (response) => response.writeHead(502).end('<html>secret</html>')],
    [
      'a 200 of another program',
      (response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":200,"headers":{}}\n'),
    ],
    ['a malformed 200', (response) => response.writeHead(200, result).end('{')],
    ['a connection that breaks', (response) => response.destroy()],
    [
      'an incomplete response',
      (response) =>
        response.writeHead(200, { ...result, 'content-length': '100' }).write('{', () => response.destroy()),
    ],
  ])('is 503, and not shown: %s', async (_reason, answer) => {
    respond = answer;
    const { status, headers, body } = await test1.asked(path, { method: 'POST' });
    expect([status, headers.get('retry-after'), body]).toEqual([
      503,
      '2',
      expect.objectContaining({ message: 'this endpoint is not available now' }),
    ]);
    expect(seen.length).toBeLessThanOrEqual(2);
    expect(seen.every(({ url }) => url === '/plugin-endpoints/lost/find')).toBe(true);
  });

  test('is 500 if it never ends', async () => {
    respond = (response) => {
      const more = (): void => {
        if (!response.destroyed) response.write(Buffer.alloc(1 << 20), more);
      };
      response.writeHead(200, result);
      more();
    };
    expect((await test1.ask(path, { method: 'POST' })).status).toBe(500);
  });

  test('is 500 if it is malformed', async () => {
    respond = (response) => response.writeHead(200, result).end('{"status":"x"}\n');
    expect((await test1.ask(path, { method: 'POST' })).status).toBe(500);
  });

  test.each([
    ['an unused port', 'http://127.0.0.1:9'],
    ['no URL', 'nowhere'],
    ['another protocol', 'file:///etc/passwd'],
    ['credentials', 'http://a:b@127.0.0.1:1'],
  ])('a host at %s is 503', async (_reason, url) => {
    const forward = new HttpForwarder({ signer: test1.mounts[0]!.identity, log: silent });
    await expect(forward.forward(url, call(), new AbortController().signal)).rejects.toMatchObject({
      code: 503,
      details: { retryAfterSeconds: 2 },
    });
    forward.close();
  });
});

describe('a kept connection', () => {
  test('is reused; one that the host has closed causes no failure', async () => {
    const sockets = new Set<unknown>();
    respond = (response, request) => {
      sockets.add(request.socket);
      // Closes the connection after its response without announcing it.
      if (seen.length === 3) response.once('finish', () => setImmediate(() => request.socket.destroy()));
      response.writeHead(200, result).end('{"status":200,"headers":{},"hasBody":true}\n[]');
    };
    for (let i = 0; i < 6; i += 1) expect((await test1.ask(path, { method: 'POST' })).status).toBe(200);
    expect(sockets.size).toBe(2);
  });
});

describe('a captured request', () => {
  function replay(at: string, { signature, body }: { signature: string; body: Buffer }): Promise<Response> {
    return fetch(`${test1.hostUrl}${at}`, { method: 'POST', headers: { 'x-svc-signature': signature }, body });
  }

  const find = '/plugin-endpoints/lost/find';

  test('for one host is refused by another, even if it was not used there', async () => {
    await test1.ask(path, { method: 'POST', asAdmin: true, body: { a: 1 } });
    expect((await replay(find, seen[0]!)).status).toBe(401);
    expect(test1.host.calls).toEqual([]);
  });

  test('is refused at another path, with changes, and after its use', async () => {
    test1.host.handlers.set('lost.find', () => Promise.resolve(ok));
    await test1.ask(path, { method: 'POST', asAdmin: true, body: { a: 1 } });
    const { body } = seen[0]!;
    const signed = (): Parameters<typeof replay>[1] => ({
      signature: test1.mounts[0]!.identity.sign({ host: test1.hostUrl, target: `POST ${find}`, body }),
      body,
    });
    const first = signed();
    expect((await replay('/plugin-endpoints/blog/listPosts', first)).status).toBe(401);
    expect(
      (await replay(find, { ...first, body: Buffer.from(body.toString().replace('admin', 'other')) })).status,
    ).toBe(401);
    // The previous attempt used up the nonce.
    expect((await replay(find, first)).status).toBe(401);
    expect(test1.host.calls).toEqual([]);
    const second = signed();
    expect((await replay(find, second)).status).toBe(200);
    expect((await replay(find, second)).status).toBe(401);
    expect(test1.host.calls).toMatchObject([
      { operationId: 'find', user: { name: 'admin' }, body: Buffer.from('{"a":1}') },
    ]);
  });

  test('has the restrictions of the user, and other facts about them; unknown facts are 400', async () => {
    test1.host.handlers.set('lost.find', () => Promise.resolve(ok));
    const bodyOf = (more: object): Buffer =>
      Buffer.from(
        `${JSON.stringify({ endpoint: `POST ${path}`, params: {}, query: '', requestId: 'r', user: { name: 'a', uid: 'u', groups: ['g'], ...more } })}\n`,
      );
    const sent = async (body: Buffer): Promise<number> =>
      (
        await replay(find, {
          signature: test1.mounts[0]!.identity.sign({ host: test1.hostUrl, target: `POST ${find}`, body }),
          body,
        })
      ).status;
    const more = { extra: { 'example.com/team': ['x', 'y'] }, restriction: { roles: ['view'] } };
    expect(await sent(bodyOf(more))).toBe(200);
    expect(test1.host.calls.map(({ user }) => user)).toEqual([{ name: 'a', uid: 'u', groups: ['g'], ...more }]);
    for (const wrong of [
      { restriction: null },
      { restriction: {} },
      { restriction: { roles: [1] } },
      { restriction: ['view'] },
      { extra: [] },
      { extra: { a: 'b' } },
      { extra: { a: [1] } },
    ])
      expect(await sent(bodyOf(wrong))).toBe(400);
    expect(test1.host.calls).toHaveLength(1);
  });

  test.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['a token', { authorization: 'Bearer x' }],
    [
      'a signature with an unknown key',
      { 'x-svc-signature': `v1.${Buffer.from('{}').toString('base64url')}.${'A'.repeat(86)}` },
    ],
  ])('is refused with %s', async (_reason, headers) => {
    for (const at of ['/plugin-endpoints/lost/find', '/plugin-endpoints', '/plugin-endpoints/lost/find/x']) {
      const answer = await fetch(`${test1.hostUrl}${at}`, { method: 'POST', headers, body: 'x' });
      expect([answer.status, answer.headers.get('www-authenticate'), await answer.json()]).toEqual([
        401,
        'SVC-Signature',
        expect.objectContaining({ message: 'Unauthorized' }),
      ]);
    }
  });

  test('an API server without a lease is refused; one with a lease that sends no call gets 400', async () => {
    const body = Buffer.from('{}\n');
    const stranger = new ServerIdentity({ client: test1.client, log: silent, hostname: 'test' });
    expect(
      (await replay(find, { signature: stranger.sign({ host: test1.hostUrl, target: `POST ${find}`, body }), body }))
        .status,
    ).toBe(401);
    for (const text of [
      '{}\n',
      '',
      '[]\n',
      '{"user":null}\n',
      '{"user":{"name":"a","uid":"","groups":[]},"params":{},"query":"","requestId":""}\n',
      '{"endpoint":"","user":{"name":"a","uid":"","groups":[1]},"params":{},"query":"","requestId":""}\n',
      '{"endpoint":"","user":{"name":"a","uid":"","groups":[]},"params":{"a":{}},"query":"","requestId":""}\n',
    ]) {
      const bytes = Buffer.from(text);
      expect(
        (
          await replay(find, {
            signature: test1.mounts[0]!.identity.sign({ host: test1.hostUrl, target: `POST ${find}`, body: bytes }),
            body: bytes,
          })
        ).status,
      ).toBe(400);
    }
  });
});

function call(): EndpointCall {
  return {
    plugin: 'lost',
    operationId: 'find',
    endpoint: `POST ${path}`,
    params: {},
    query: '',
    user: { name: 'a', uid: '', groups: [] },
    requestId: 'r',
  };
}
