import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { newUnauthorized } from '#pkg/apimachinery/index';
import {
  chain,
  expressHandler,
  HttpServer,
  isOpenEndpoint,
  withRequestId,
  withSecurityHeaders,
  withStatus,
} from '#pkg/http/index';
import { consoleEndpoints } from './console-endpoints.ts';
import { ConsoleFolder } from './console-files.ts';

const page = `<!doctype html><meta property="csp-nonce" nonce="__CSP_NONCE__"><style nonce="__CSP_NONCE__"></style>`;
const userCenterPage = `${page}<title>user center</title>`;
const script = 'console.log("console");'.repeat(20);

let folder: string;
let server: HttpServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-console-'));
  const dist = join(folder, 'dist');
  await mkdir(join(dist, 'assets'), { recursive: true });
  await Promise.all([
    writeFile(join(folder, 'secret.txt'), 'a secret'),
    symlink(join(folder, 'secret.txt'), join(dist, 'link.txt')),
    writeFile(join(dist, 'index.html'), page),
    writeFile(join(dist, 'uc.html'), userCenterPage),
    writeFile(join(dist, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>'),
    writeFile(join(dist, 'notes.doc'), 'no type'),
    writeFile(join(dist, 'assets', 'index-1a2b.js'), script),
    writeFile(join(dist, 'assets', 'index-1a2b.js.br'), brotliCompressSync(script)),
    writeFile(join(dist, 'assets', 'index-1a2b.js.gz'), gzipSync(script)),
    writeFile(join(dist, 'assets', 'index-1a2b.css'), 'b { color: red }'),
  ]);
  const groups = consoleEndpoints(new ConsoleFolder(dist));
  const isOpen = isOpenEndpoint(groups);
  const handler = expressHandler(groups);
  server = new HttpServer({
    handler: chain([withRequestId(), withSecurityHeaders(), withStatus()], (context) =>
      isOpen(context.info) ? handler(context) : Promise.reject(newUnauthorized()),
    ),
    log: pino({ level: 'silent' }),
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await server.close({ drainTimeoutMs: 0 });
  await rm(folder, { recursive: true });
});

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Unlike `fetch`, sends the path as it is. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { port } = server.address;
    const request = httpRequest({ host: '127.0.0.1', port, agent: false, path, headers, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on('error', reject).end();
  });
}

describe('the page', () => {
  test.each([
    ['/console/', page],
    ['/uc/', userCenterPage],
  ])('%s has a nonce of its own in each answer, and the strict policy', async (path, text) => {
    const [first, second] = await Promise.all([get(path), get(path)]);
    const nonces = [first, second].map(({ status, headers, body }) => {
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
      });
      const policy = headers['content-security-policy'] as string;
      const nonce = /'nonce-([A-Za-z0-9+/]{22}==)'/.exec(policy)![1]!;
      expect(body.toString()).toBe(text.replaceAll('__CSP_NONCE__', nonce));
      expect(policy.replace(nonce, 'N').split('; ')).toEqual([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'nonce-N'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        `frame-src http://127.0.0.1:${server.address.port}/plugin-pages/`,
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]);
      return nonce;
    });
    expect(nonces[0]).not.toBe(nonces[1]);
  });

  test.each(['/console/g/apps/posts', '/console/g/blog.example.com/posts/-/a.b.js', '/console/index.html'])(
    'is at %s, which its router knows',
    async (path) => {
      const { status, headers, body } = await get(path);
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(body.toString()).toContain('<!doctype html>');
    },
  );

  test.each(['/uc/tokens', '/uc/p/blog/board', '/uc/assets/index-1a2b.js', '/uc/uc.html'])(
    'of the user center is at %s, and no file is there',
    async (path) => {
      const { status, headers, body } = await get(path);
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(body.toString()).toContain('<title>user center</title>');
    },
  );

  test('has no body for HEAD', async () => {
    const { status, body } = await get('/console/', {}, 'HEAD');
    expect([status, body.length]).toEqual([200, 0]);
  });

  test.each([
    ['/', 302, './console/'],
    ['/?next=https://elsewhere.example', 302, './console/'],
    ['/console', 308, './console/'],
    ['/uc', 308, './uc/'],
    ['/uc?next=https://elsewhere.example', 308, './uc/'],
  ])('is where %s leads', async (path, status, location) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.location]).toEqual([status, location]);
  });

  test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('refuses %s', async (method) => {
    for (const path of ['/', '/console/', '/console/assets/index-1a2b.js', '/uc', '/uc/']) {
      const { status, headers } = await get(path, {}, method);
      expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
    }
  });
});

describe('a file', () => {
  test.each([
    ['assets/index-1a2b.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['assets/index-1a2b.css', 'text/css; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['icon.svg', 'image/svg+xml', 'no-cache'],
  ])('%s has its type, and may be kept as long as it is true', async (name, contentType, cacheControl) => {
    const { status, headers } = await get(`/console/${name}`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': contentType,
      'cache-control': cacheControl,
      'content-security-policy': "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
    });
    const again = await get(`/console/${name}`, { 'if-none-match': headers.etag! });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  test('is sent as the build has compressed it', async () => {
    const path = '/console/assets/index-1a2b.js';
    const brotli = await get(path, { 'accept-encoding': 'gzip, deflate, br' });
    expect([brotli.headers['content-encoding'], brotli.headers.vary]).toEqual(['br', 'Accept-Encoding']);
    expect(brotliDecompressSync(brotli.body).toString()).toBe(script);
    const zipped = await get(path, { 'accept-encoding': 'gzip, br;q=0' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(zipped.body).toString()).toBe(script);
    const plain = await get(path);
    expect([plain.headers['content-encoding'], plain.body.toString()]).toEqual([undefined, script]);
  });

  test('that the build has not compressed is compressed by gzip', async () => {
    const { headers, body } = await get('/console/assets/index-1a2b.css', { 'accept-encoding': 'gzip, br' });
    expect([headers['content-encoding'], gunzipSync(body).toString()]).toEqual(['gzip', 'b { color: red }']);
  });

  test.each(['assets/index-0000.js', 'assets/', 'assets/index-1a2b.js/', 'assets/constructor', 'assets/__proto__'])(
    'of another version is 404: %s',
    async (name) => {
      expect((await get(`/console/${name}`)).status).toBe(404);
    },
  );

  test.each([
    '/console/../secret.txt',
    '/console/../../secret.txt',
    '/console/assets/../../secret.txt',
    '/console/%2e%2e/secret.txt',
    '/console/..%2fsecret.txt',
    '/console/%2e%2e%2fsecret.txt',
    '/console/..%5csecret.txt',
    '/console/assets/..\\..\\secret.txt',
    '/console//etc/passwd',
    '/console/%2fetc%2fpasswd',
    '/console/secret.txt%00.js',
    '/console/link.txt',
    '/console/notes.doc',
    '/console/constructor',
    '/console/__proto__',
  ])('outside of the build is not served: %s', async (path) => {
    const { status, body } = await get(path);
    expect([200, 400]).toContain(status);
    if (status === 200) expect(body.toString()).toContain('<!doctype html>');
    expect(body.toString()).not.toMatch(/a secret|root:|no type/);
  });
});

test.each([
  '/ucs',
  '/uc.html',
  '/UC/',
  '/consoles',
  '/console.html',
  '/Console/',
  '/api/v1/namespaces',
  '/assets/index-1a2b.js',
])('the console opens no other path: %s', async (path) => {
  expect((await get(path)).status).toBe(401);
});

test.each(['[::1]:8090', 'a;sandbox;b'])('the policy does not name the host %s', async (host) => {
  const { headers } = await get('/console/', { host });
  expect(headers['content-security-policy']).toContain("; frame-src 'self'; ");
});

describe('a build', () => {
  const dist = (): string => join(folder, 'dist');
  const write = async (text: string, asset: string): Promise<void> => {
    await mkdir(join(dist(), 'assets'), { recursive: true });
    await writeFile(join(dist(), 'assets', asset), text);
    await writeFile(join(dist(), 'uc.html'), text);
    await writeFile(join(dist(), 'index.html'), text);
  };
  beforeAll(() => rename(dist(), join(folder, 'first')));
  afterAll(async () => {
    await rm(dist(), { recursive: true });
    await rename(join(folder, 'first'), dist());
  });

  test('that is missing is told with what to do, and served once it is there', async () => {
    const { status, headers, body } = await get('/console/g/apps/posts');
    expect([status, headers['content-type'], headers['cache-control'], headers['content-security-policy']]).toEqual([
      503,
      'text/html; charset=utf-8',
      'no-store',
      "default-src 'none'; frame-ancestors 'none'",
    ]);
    expect(body.toString()).toContain('npm run build:console');
    expect((await get('/console/assets/index-1a2b.js')).status).toBe(404);
    expect((await get('/')).status).toBe(302);
    await write('second', 'second-2b.js');
    expect((await get('/console/')).body.toString()).toBe('second');
  });

  test('that takes the place of another one is served, and files of the other that nobody has loaded are 404', async () => {
    await rm(dist(), { recursive: true });
    await write('third', 'third-3c.js');
    expect((await get('/console/')).body.toString()).toBe('third');
    expect((await get('/console/assets/third-3c.js')).body.toString()).toBe('third');
    expect((await get('/console/assets/second-2b.js')).status).toBe(404);
  });

  test('whose files went away is 404 for each, and not a failure', async () => {
    await write('fourth', 'fourth-4d.js');
    const files = (await new ConsoleFolder(dist()).files())!;
    await rm(join(dist(), 'assets'), { recursive: true });
    expect(await files.find('assets/fourth-4d.js')).toBeUndefined();
  });
});
