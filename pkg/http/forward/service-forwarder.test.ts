import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createNetServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { noteForwarded, type ForwardedRequest } from '../connection/forwarded-request.ts';
import { InFlightLimits } from '../filters/limits/in-flight-limits.ts';
import { withTimeout } from '../filters/with-timeout.ts';
import { readAll, startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import type { ForwardingProof } from './forwarding-proof.ts';
import { ServiceForwarder } from './service-forwarder.ts';

const proof: ForwardingProof = {
  prove: ({ method, target }, forwarded) => `proof ${method} ${target} ${JSON.stringify(forwarded)}`,
  check: (text) => (text.startsWith('proof ') ? ({} as ForwardedRequest) : undefined),
};
const forwarded: ForwardedRequest = { clientAddress: '10.0.0.1', origin: 'http://a' };
const waitMs = 20_000;

/** The service that requests are forwarded to. */
let service: Server;
let serve: (request: IncomingMessage, response: ServerResponse) => void;
let forwarder: ServiceForwarder;
let front: TestHttpServer;
const sockets = new Set<Socket>();

function frontOf(to: ServiceForwarder, limits = new InFlightLimits({})): Promise<TestHttpServer> {
  const forward = to.handler(proof);
  return startTestServer(
    (context) => {
      noteForwarded(context.request, forwarded);
      return forward(context);
    },
    { filters: [withTimeout({ timeoutMs: 5000 }), limits.withoutAuthentication] },
  );
}

beforeAll(async () => {
  service = createServer({ requireHostHeader: false }, (request, response) => serve(request, response));
  service.on('checkContinue', (request, response) => serve(request, response));
  service.on('connection', (socket) => void sockets.add(socket));
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  forwarder = new ServiceForwarder({ url: `http://127.0.0.1:${(service.address() as AddressInfo).port}` });
  front = await frontOf(forwarder);
});
afterAll(async () => {
  await front.server.close({ drainTimeoutMs: 0 });
  forwarder.close();
  service.closeAllConnections();
  service.close();
});
beforeEach(() => {
  serve = (_request, response) => void response.end('ok');
});

/** The next request to the service, after its body has arrived; it is answered 200. */
function nextRequest(): Promise<{ request: IncomingMessage; body: string }> {
  return new Promise((resolve) => {
    serve = (request, response) => {
      let body = '';
      request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        resolve({ request, body });
        response.end('ok');
      });
    };
  });
}

describe('a request', () => {
  test.each(['/a?b=%2F%2f&c=+%20&&d=e%CC%81', '/%61/%C3%A9;x=1?=&', '/a/?b?c/../d&e=a"b|c{}^`<>', '/a?'])(
    'keeps path, query and headers byte for byte: %s',
    async (target) => {
      const seen = nextRequest();
      const socket = await front.open();
      socket.write(
        `GET ${target} HTTP/1.1\r\nhOsT: Some.Host:81\r\nX-Odd:  a\u00e9 b \r\nx-odd: c\r\nDate: d\r\nX-Request-Id: mine\r\nConnection: close\r\n\r\n`,
        'latin1',
      );
      const { request } = await seen;
      expect(request.url).toBe(target);
      expect(request.rawHeaders.slice(0, 10)).toEqual([
        'hOsT',
        'Some.Host:81',
        'X-Odd',
        'a\u00e9 b',
        'x-odd',
        'c',
        'Date',
        'd',
        'X-Request-Id',
        'mine',
      ]);
      expect(request.headers['x-svc-forwarded']).toBe(`proof GET ${target} ${JSON.stringify(forwarded)}`);
    },
  );

  test('has the proof of this server, an id, and nothing of the connection', async () => {
    const seen = nextRequest();
    await front.send({
      path: '/a',
      headers: { 'x-svc-forwarded': 'mine', 'keep-alive': 'timeout=1', te: 'trailers', connection: 'x-svc-forwarded' },
    });
    const { headers } = (await seen).request;
    expect(headers['x-svc-forwarded']).toMatch(/^proof GET \/a /);
    expect(headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
    expect([headers['keep-alive'], headers['te'], headers.connection]).toEqual([undefined, undefined, 'keep-alive']);
  });

  test.each<[string, string, string]>([
    ['with its length', 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde', 'abcde'],
    [
      'in chunks',
      'PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n',
      'abc',
    ],
    ['empty, without a length', 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', ''],
    ['of a GET', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab', 'ab'],
    ['of an old client', 'DELETE / HTTP/1.0\r\nContent-Length: 1\r\n\r\na', 'a'],
  ])('brings its body, %s', async (_how, raw, body) => {
    const seen = nextRequest();
    expect(await front.raw(raw)).toMatch(/^HTTP\/1\.1 200 /);
    expect((await seen).body).toBe(body);
  });

  test('brings a body that the client sends after it was asked to', async () => {
    const seen = nextRequest();
    const socket = await front.open();
    const received = readAll(socket);
    socket.write(
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n',
    );
    await once(socket, 'data');
    socket.write('abc');
    expect((await seen).body).toBe('abc');
    expect(await received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
  });

  test('streams: the service has the begin of a body before its end is sent', async () => {
    let begun = '';
    serve = (request, response) => {
      request.setEncoding('latin1').on('data', (chunk: string) => (begun += chunk));
      request.on('end', () => response.end(begun));
    };
    const socket = await front.open();
    const received = readAll(socket);
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc');
    await pollUntil(() => begun === 'abc', waitMs, 'the first half');
    socket.write('def');
    expect(await received).toMatch(/abcdef$/);
  });

  test('that is refused before its body was read gets the refusal, and its connection is closed', async () => {
    serve = (_request, response) => void response.writeHead(413).end('too large');
    const socket = await front.open();
    const received = readAll(socket);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n${'a'.repeat(100_000)}`);
    expect(await received).toMatch(/^HTTP\/1\.1 413 [^]*too large\r\n0\r\n\r\n$/);
  });

  test('whose client leaves is given up at the service', async () => {
    const closed = new Promise((resolve) => {
      serve = (request) => void request.once('close', resolve);
    });
    const reached = pollUntil(() => sockets.size > 0, waitMs);
    const socket = await front.open();
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc');
    await reached;
    socket.destroy();
    await closed;
  });

  test('whose body does not come is 408', async () => {
    const fast = await startTestServer(
      (context) => {
        noteForwarded(context.request, forwarded);
        return forwarder.handler(proof)(context);
      },
      { filters: [withTimeout({ timeoutMs: 50 })] },
    );
    serve = () => undefined;
    expect(await fast.raw('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc')).toMatch(/^HTTP\/1\.1 408 /);
    expect(await fast.raw('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 504 /);
    await fast.server.close({ drainTimeoutMs: 0 });
  });

  test('that was forwarded already is refused: two servers would forward it for ever', async () => {
    const { status, body } = await front.send({ path: '/', headers: { 'x-svc-forwarded': 'proof of another' } });
    expect([status, JSON.parse(body.toString()).message]).toEqual([503, expect.stringContaining('forwards them, too')]);
  });
});

describe('an answer', () => {
  test('keeps status and headers, those that come twice too, and nothing of the connection', async () => {
    serve = (_request, response) =>
      void response
        .writeHead(207, [
          'Set-Cookie',
          'a=1',
          'X-Request-Id',
          'theirs',
          'SET-COOKIE',
          'b=2',
          'Keep-Alive',
          'timeout=9',
          'Connection',
          'X-Hop',
          'X-Hop',
          'c',
          'Content-Type',
          'text/plain',
          'Location',
          '//elsewhere',
        ])
        .end('body');
    const { status, headers, body } = await front.send({ path: '/' });
    expect([status, body.toString()]).toEqual([207, 'body']);
    expect(headers).toMatchObject({
      'set-cookie': ['a=1', 'b=2'],
      'x-request-id': 'theirs',
      'content-type': 'text/plain',
      location: '//elsewhere',
    });
    expect([headers['x-hop'], headers['keep-alive']]).toEqual([undefined, undefined]);
  });

  test.each([204, 304])('without a body has none: %i', async (status) => {
    serve = (_request, response) => void response.writeHead(status, { ETag: '"a"' }).end();
    const answer = await front.send({ path: '/' });
    expect([answer.status, answer.headers.etag, answer.body.length]).toEqual([status, '"a"', 0]);
  });

  test('to HEAD has the length of the body, and no body', async () => {
    serve = (_request, response) => void response.writeHead(200, { 'Content-Length': 1234 }).end();
    const { headers, body } = await front.send({ path: '/', method: 'HEAD' });
    expect([headers['content-length'], body.length]).toEqual(['1234', 0]);
  });

  test('streams: the client has the begin before the service sends the end', async () => {
    let end = (): void => undefined;
    serve = (_request, response) => {
      response.write('begin ');
      end = () => void response.end('end');
    };
    const socket = await front.open();
    const received = readAll(socket);
    let begun = '';
    socket.on('data', (chunk: string) => (begun += chunk));
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await pollUntil(() => begun.includes('begin '), waitMs, 'the first part');
    end();
    expect(await received).toMatch(/begin [^]*end/);
  });

  test('that breaks off is not taken for a whole one', async () => {
    serve = (request, response) => {
      response.writeHead(200, { 'Content-Length': 10 }).write('half');
      setImmediate(() => request.socket.destroy());
    };
    await expect(front.send({ path: '/' })).rejects.toThrow(/aborted|socket hang up/);
  });

  test('that its client does not read is not read from the service, either', async () => {
    let written = 0;
    let isPaused = false;
    serve = (_request, response) => {
      const more = (): void => {
        for (let i = 0; i < 10_000; i += 1) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536))) break;
        }
        isPaused = true;
        response.once('drain', () => {
          isPaused = false;
          more();
        });
      };
      more();
    };
    const socket = await front.open();
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await pollUntil(() => isPaused && written > 0, waitMs, 'the service to be paused');
    expect(written).toBeLessThan(100 * 1024 * 1024);
    socket.destroy();
  });
});

describe('a service that', () => {
  test('nobody runs is 503', async () => {
    const nobody = createNetServer().listen(0, '127.0.0.1');
    await once(nobody, 'listening');
    const { port } = nobody.address() as AddressInfo;
    nobody.close();
    await once(nobody, 'close');
    const away = new ServiceForwarder({ url: `http://127.0.0.1:${port}` });
    const server = await frontOf(away);
    const { status, headers, body } = await server.send({ path: '/', method: 'POST', body: 'a' });
    expect([status, headers['retry-after'], JSON.parse(body.toString())]).toMatchObject([
      503,
      '1',
      { kind: 'Status', reason: 'ServiceUnavailable' },
    ]);
    await server.server.close({ drainTimeoutMs: 0 });
    away.close();
  });

  test('closes the connection instead of an answer is 502', async () => {
    serve = (request) => void request.socket.destroy();
    const { status, headers, body } = await front.send({ path: '/', method: 'POST', body: 'a' });
    expect([status, headers['retry-after'], JSON.parse(body.toString()).reason]).toEqual([
      502,
      undefined,
      'InternalError',
    ]);
  });

  test('sends what is no HTTP is 502', async () => {
    serve = (request) => void request.socket.end('SSH-2.0-OpenSSH\r\n');
    expect((await front.send({ path: '/', method: 'POST', body: 'a' })).status).toBe(502);
  });

  test('closes an idle connection as a request comes is asked again, if that is safe', async () => {
    for (const [method, status] of [
      ['GET', 200],
      ['POST', 502],
    ] as const) {
      serve = (_request, response) => void response.end('ok');
      expect((await front.send({ path: '/', method })).status).toBe(200);
      // Without a FIN the forwarder cannot know.
      let isFirst = true;
      serve = (request, response) => {
        if (isFirst) request.socket.resetAndDestroy();
        else response.end('again');
        isFirst = false;
      };
      expect([method, (await front.send({ path: '/', method })).status]).toEqual([method, status]);
    }
  });
});

test('requests of one address wait for each other, and hold no slot of others', async () => {
  const server = await frontOf(forwarder, new InFlightLimits({ total: 256, perUser: 64, maxWaitMs: 0 }));
  let running = 0;
  const release: (() => void)[] = [];
  serve = (_request, response) => {
    running += 1;
    release.push(() => void response.end('ok'));
  };
  const answers = Array.from({ length: 40 }, () => server.send({ path: '/', headers: { authorization: 'Bearer a' } }));
  await pollUntil(() => running === 32, waitMs, 'the requests that may run');
  const refused = (await Promise.all(answers.slice(32))).map(({ status }) => status);
  expect(new Set(refused)).toEqual(new Set([429]));
  for (const each of release) each();
  expect(new Set((await Promise.all(answers.slice(0, 32))).map(({ status }) => status))).toEqual(new Set([200]));
  await server.server.close({ drainTimeoutMs: 0 });
});

test('a server that ends answers the requests that it has forwarded', async () => {
  const server = await frontOf(forwarder);
  let end = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    serve = (_request, response) => {
      response.write('begin ');
      end = () => void response.end('end');
      resolve();
    };
  });
  const answer = server.send({ path: '/' });
  await begun;
  const closed = server.server.close({ drainTimeoutMs: waitMs });
  end();
  expect((await answer).body.toString()).toBe('begin end');
  await closed;
});
