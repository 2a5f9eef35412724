import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { pino, type Logger } from 'pino';
import {
  CertificateFiles,
  chain,
  HttpServer,
  type KeyPair,
  ServerCertificate,
  TrustedProxies,
  withRequestId,
  withStatus,
  withStrictTransport,
} from '#pkg/http/index';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { LocalCertificate } from './local-certificate.ts';
import { issueCertificate, makeAuthority } from './local-authority.ts';

let folder: string;
let messages: string[];
let closers: (() => Promise<unknown>)[];
let log: Logger;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-tls-'));
  messages = [];
  closers = [];
  log = pino(
    { level: 'debug' },
    { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) },
  );
});
afterEach(async () => {
  jest.useRealTimers();
  for (const close of closers.toReversed()) await close();
  await rm(folder, { recursive: true, force: true });
});

async function listen(
  certificate: ServerCertificate,
  { hstsDays }: { hstsDays?: number } = {},
): Promise<{ server: HttpServer; port: number }> {
  const handler = chain([withStrictTransport(hstsDays)], async ({ response }) => void response.end('ok'));
  const server = new HttpServer({ handler, log });
  closers.push(() => server.close({ drainTimeoutMs: 200 }));
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, certificate });
  return { server, port };
}

async function greet(port: number, ca: string): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', ca });
  socket.on('error', () => undefined);
  closers.push(async () => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

const serialOf = (socket: TLSSocket): string => socket.getPeerCertificate().serialNumber;

const everythingButDate = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

describe('certificate and key files', () => {
  /** As Kubernetes mounts a Secret: the files are links into a folder whose link is replaced. */
  async function mount(pair: KeyPair, version: string): Promise<void> {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, 'tls.crt'), pair.cert);
    await writeFile(join(folder, version, 'tls.key'), pair.key);
    await symlink(version, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  }

  async function openMounted(pair: KeyPair, options: { pollMs?: number } = {}): Promise<CertificateFiles> {
    await mount(pair, '1');
    for (const name of ['tls.crt', 'tls.key']) await symlink(join('..data', name), join(folder, name));
    const files = await CertificateFiles.open({
      certFile: join(folder, 'tls.crt'),
      keyFile: join(folder, 'tls.key'),
      log,
      settleMs: 20,
      ...options,
    });
    closers.push(() => files.close());
    return files;
  }

  test('that are replaced are used from the next connection on, and open connections stay', async () => {
    const authority = await makeAuthority();
    const files = await openMounted(await issueCertificate(authority, ['127.0.0.1']));
    const { port } = await listen(files.certificate);
    const before = await greet(port, authority.cert);
    await mount(await issueCertificate(authority, ['127.0.0.1']), '2');
    await pollUntil(() => messages.includes('the certificate was replaced'));
    expect(serialOf(await greet(port, authority.cert))).not.toBe(serialOf(before));
    before.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(String((await once(before, 'data'))[0])).toContain('200 OK');
  });

  test('that cannot be used are logged once, and the previous ones stay in use', async () => {
    const authority = await makeAuthority();
    const files = await openMounted(await issueCertificate(authority, ['127.0.0.1']));
    const { pair } = files.certificate;
    const { cert } = await issueCertificate(authority, ['127.0.0.1']);
    await mount({ cert, key: pair.key }, '2');
    await pollUntil(() => messages.includes('the new certificate cannot be used; the old one stays in use'));
    expect(files.certificate.pair).toBe(pair);
    await mount(await issueCertificate(authority, ['127.0.0.1']), '3');
    await pollUntil(() => messages.includes('the certificate was replaced'));
    expect(messages.filter((message) => message.startsWith('the new certificate'))).toHaveLength(1);
  });

  test('that are replaced between the two reads are read again, as one pair', async () => {
    const authority = await makeAuthority();
    // All different, because a version that returns while the next one is read would look unchanged.
    const pairs = await Promise.all(Array.from({ length: 10 }, () => issueCertificate(authority, ['127.0.0.1'])));
    const files = await openMounted(pairs[0]!, { pollMs: 1 });
    for (let version = 2; version <= 101; version += 1) await mount(pairs[version % 10]!, String(version));
    await pollUntil(() => files.certificate.pair.cert === pairs[1]!.cert);
    expect(messages.filter((message) => message !== 'the certificate was replaced')).toEqual([]);
  });

  test('that are written one after the other are used when both exist, in any order', async () => {
    const authority = await makeAuthority();
    const write = async (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
    const before = await issueCertificate(authority, ['127.0.0.1']);
    await write('tls.crt', before.cert);
    await write('tls.key', before.key);
    const files = await CertificateFiles.open({
      certFile: join(folder, 'tls.crt'),
      keyFile: join(folder, 'tls.key'),
      log,
      settleMs: 20,
    });
    closers.push(() => files.close());
    for (const [first, second] of [
      ['tls.crt', 'tls.key'],
      ['tls.key', 'tls.crt'],
    ] as const) {
      const { cert, key } = await issueCertificate(authority, ['127.0.0.1']);
      const texts = { 'tls.crt': cert, 'tls.key': key };
      messages.length = 0;
      await write(first, texts[first]);
      await pollUntil(() => messages.includes('the new certificate cannot be used; the old one stays in use'));
      await write(second, texts[second]);
      await pollUntil(() => messages.includes('the certificate was replaced'));
      expect(files.certificate.pair).toEqual({ cert, key });
    }
  });

  test.each([
    ['nothing there', {}, /tls\.crt cannot be read \(ENOENT\)/],
    ['no certificate', { 'tls.crt': 'x', 'tls.key': 'y' }, /certificate cannot be read: it is not in PEM form/],
  ])('with %s are refused', async (_reason, texts: Record<string, string>, says) => {
    for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text);
    await expect(
      CertificateFiles.open({ certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key'), log }),
    ).rejects.toThrow(says);
  });
});

describe('a listener of https', () => {
  test('ends connections without a handshake at its drain', async () => {
    const authority = await makeAuthority();
    const { server, port } = await listen(new ServerCertificate(await issueCertificate(authority, ['127.0.0.1'])));
    const silent = connect(port, '127.0.0.1');
    const closed = once(silent, 'close');
    await once(silent, 'connect');
    await greet(port, authority.cert);
    await Promise.all([server.close({ drainTimeoutMs: 8000 }), closed]);
    expect(server.connections.failedHandshakes).toBe(0);
  });

  test('counts connections from the first byte, with and without a handshake', async () => {
    const authority = await makeAuthority();
    const server = new HttpServer({
      handler: async ({ response }) => void response.end('ok'),
      log,
      limits: { connectionsPerAddress: 3 },
    });
    closers.push(() => server.close({ drainTimeoutMs: 200 }));
    const { port } = await server.listen({
      host: '127.0.0.1',
      port: 0,
      certificate: new ServerCertificate(await issueCertificate(authority, ['127.0.0.1'])),
    });
    const sockets = Array.from({ length: 8 }, () => connect(port, '127.0.0.1'));
    closers.push(async () => sockets.forEach((socket) => socket.destroy()));
    await pollUntil(() => server.connections.refused.address === 5);
    expect(server.connections.open).toBe(3);
    // A connection that the server ends is not a failed handshake.
    await pollUntil(() => sockets.filter((socket) => socket.destroyed).length === 5);
    expect(server.connections.failedHandshakes).toBe(0);
    sockets.forEach((socket) => socket.destroy());
    await pollUntil(() => server.connections.open === 0);
    await greet(port, authority.cert);
    expect(server.connections.open).toBe(1);
  });

  test('counts failed handshakes: a client that speaks http, and one that does not trust the authority', async () => {
    const [authority, another] = [await makeAuthority(), await makeAuthority()];
    const { server, port } = await listen(new ServerCertificate(await issueCertificate(authority, ['127.0.0.1'])));
    const plain = connect(port, '127.0.0.1');
    plain.on('error', () => undefined).end('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
    await pollUntil(() => server.connections.failedHandshakes === 1);
    await expect(greet(port, another.cert)).rejects.toThrow();
    await pollUntil(() => server.connections.failedHandshakes === 2);
    await greet(port, authority.cert);
    expect(server.connections.failedHandshakes).toBe(2);
  });

  /** Connections from these addresses are never closed to make room. */
  const proxies = new TrustedProxies(['127.0.0.1']);

  test('closes an idle connection for a new one, with and without a handshake', async () => {
    const authority = await makeAuthority();
    const server = new HttpServer({
      handler: async ({ response }) => void response.end('ok'),
      log,
      limits: { connections: 1 },
    });
    closers.push(() => server.close({ drainTimeoutMs: 200 }));
    const { port } = await server.listen({
      host: '127.0.0.1',
      port: 0,
      certificate: new ServerCertificate(await issueCertificate(authority, ['127.0.0.1'])),
    });
    const silent = connect(port, '127.0.0.1')
      .on('error', () => undefined)
      .resume();
    await pollUntil(() => server.connections.open === 1);
    const idle = (await greet(port, authority.cert)).resume();
    await pollUntil(() => silent.destroyed);
    await greet(port, authority.cert);
    await pollUntil(() => idle.destroyed);
    expect(server.connections).toEqual({ open: 1, refused: { total: 0, address: 0, idle: 2 }, failedHandshakes: 0 });
  });

  test('keeps a few connections beyond the limit for probes', async () => {
    const authority = await makeAuthority();
    const server = new HttpServer({
      handler: chain([withRequestId(), withStatus()], async ({ response }) => void response.end('ok')),
      log,
      limits: { connections: 1 },
      proxies,
      isProbe: (path) => path === '/livez',
    });
    closers.push(() => server.close({ drainTimeoutMs: 200 }));
    const { port } = await server.listen({
      host: '127.0.0.1',
      port: 0,
      certificate: new ServerCertificate(await issueCertificate(authority, ['127.0.0.1'])),
    });
    await greet(port, authority.cert);
    for (const [path, status] of [
      ['/livez', '200'],
      ['/other', '429'],
    ] as const) {
      const socket = await greet(port, authority.cert);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
      expect(String((await once(socket, 'data'))[0])).toContain(` ${status} `);
    }
  });

  test('closes the oldest of these for a new one, which is not a failed handshake', async () => {
    const authority = await makeAuthority();
    const server = new HttpServer({
      handler: async ({ response }) => void response.end('ok'),
      log,
      limits: { connections: 1 },
      proxies,
    });
    closers.push(() => server.close({ drainTimeoutMs: 200 }));
    const { port } = await server.listen({
      host: '127.0.0.1',
      port: 0,
      certificate: new ServerCertificate(await issueCertificate(authority, ['127.0.0.1'])),
    });
    const silent: Socket[] = [];
    closers.push(async () => silent.forEach((socket) => socket.destroy()));
    while (silent.length < 33) {
      silent.push(connect(port, '127.0.0.1').on('error', () => undefined));
      await pollUntil(() => server.connections.open === silent.length);
    }
    const closed = once(silent[1]!, 'close');
    silent.push(connect(port, '127.0.0.1'));
    await closed;
    await pollUntil(() => server.connections.open === 33);
    expect(server.connections.failedHandshakes).toBe(0);
    silent[0]!.destroy();
    await pollUntil(() => server.connections.failedHandshakes === 1);
  });

  test('shares its limits with the http listener', async () => {
    const authority = await makeAuthority();
    const { server, port } = await listen(new ServerCertificate(await issueCertificate(authority, ['127.0.0.1'])));
    const plain = await server.listen({ host: '127.0.0.1', port: 0 });
    await greet(port, authority.cert);
    const other = connect(plain.port, '127.0.0.1');
    closers.push(async () => other.destroy());
    await pollUntil(() => server.connections.open === 2);
  });

  test.each([
    ['asks browsers for https alone under its own name', 'svc.example.com', 10, 'max-age=864000'],
    ['asks them under its own name with a port', 'svc.example.com:8443', 10, 'max-age=864000'],
    ['takes it back', 'svc.example.com', 0, 'max-age=0'],
    ['asks for nothing where it is not told to', 'svc.example.com', undefined, undefined],
    ['asks for nothing under localhost, which others share', 'localhost:8443', 10, undefined],
    ['asks for nothing under an address', '127.0.0.1', 10, undefined],
    ['asks for nothing under an address in brackets', '[::1]:8443', 10, undefined],
  ])('%s', async (_reason, host, hstsDays, wanted) => {
    const authority = await makeAuthority();
    const { port } = await listen(
      new ServerCertificate(await issueCertificate(authority, ['127.0.0.1'])),
      hstsDays === undefined ? {} : { hstsDays },
    );
    const answer = await new Promise<string | undefined>((resolve, reject) => {
      const asked = request(
        { port, host: '127.0.0.1', servername: '', ca: authority.cert, headers: { Host: host }, agent: false },
        (response) => resolve(response.resume().headers['strict-transport-security']),
      );
      asked.on('error', reject).end();
    });
    expect(answer).toBe(wanted);
  });
});

describe('the certificate of one machine', () => {
  const open = async (hosts: readonly string[] = []): Promise<LocalCertificate> => {
    const local = await LocalCertificate.open({ folder: join(folder, 'tls'), hosts, log, lookMs: 20 });
    closers.push(() => local.close());
    return local;
  };

  test('is signed by its authority, and kept', async () => {
    const first = await open();
    const { port } = await listen(first.certificate);
    expect((await greet(port, first.authority)).authorized).toBe(true);
    const second = await open();
    expect(second.certificate.pair.cert.trim()).toBe(first.certificate.pair.cert.trim());
    for (const name of ['ca.key', 'server.key'])
      expect((await stat(join(folder, 'tls', name))).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['a damaged certificate', 'server.crt', 'x', true],
    ['a key of something else', 'server.key', undefined, true],
    ['a damaged authority', 'ca.crt', 'x', false],
  ])('is generated again for %s', async (_reason, name, text, keepsAuthority) => {
    const first = await open();
    await writeFile(join(folder, 'tls', name), text ?? (await makeAuthority()).key);
    const second = await open();
    expect(second.certificate.pair.cert.trim()).not.toBe(first.certificate.pair.cert.trim());
    expect(second.authority.trim() === first.authority.trim()).toBe(keepsAuthority);
    const { port } = await listen(second.certificate);
    expect((await greet(port, second.authority)).authorized).toBe(true);
  });

  test('is generated again for a host that it lacks, by the same authority', async () => {
    const first = await open();
    const second = await open(['svc.example.com', '10.1.2.3']);
    expect(second.certificate.dnsNames).toContain('svc.example.com');
    expect(second.authority.trim()).toBe(first.authority.trim());
  });

  describe('if the clock was', () => {
    const setClock = (days: number): void =>
      void jest.useFakeTimers({ now: Date.now() + days * 86_400_000, doNotFake: [...everythingButDate] });

    test('wrong, is generated again when the clock is right, by the same authority, while the server runs', async () => {
      setClock(-100);
      const local = await open();
      jest.useRealTimers();
      await pollUntil(() => messages.includes('renewed certificate'));
      const { port } = await listen(local.certificate);
      expect((await greet(port, local.authority)).authorized).toBe(true);
      setClock(85);
      const before = local.certificate.pair;
      await pollUntil(() => local.certificate.pair !== before);
      jest.useRealTimers();
      // It starts in 85 days.
      const ahead = local.certificate.pair;
      await pollUntil(() => local.certificate.pair !== ahead);
      expect((await greet(port, local.authority)).authorized).toBe(true);
    });

    test.each([
      ['ahead', 40],
      ['decades behind', -20_000],
    ])(
      '%s when the authority was generated, the authority is generated again at the next start, which a warning asks for',
      async (_reason, days) => {
        setClock(days);
        const first = await open();
        jest.useRealTimers();
        await pollUntil(() => messages.some((message) => message.endsWith('restart to generate a new one')));
        await first.close();
        const second = await open();
        expect(messages).toContain(
          'the certificate authority cannot be used; generating a new one, which clients must be given',
        );
        const { port } = await listen(second.certificate);
        expect((await greet(port, second.authority)).authorized).toBe(true);
        expect(messages.filter((message) => message.endsWith('restart to generate a new one'))).toHaveLength(1);
      },
    );
  });

  test('expires no later than its authority', async () => {
    jest.useFakeTimers({ now: Date.now() - 3600 * 86_400_000, doNotFake: [...everythingButDate] });
    const authority = await makeAuthority();
    jest.useRealTimers();
    const { cert } = await issueCertificate(authority, ['127.0.0.1']);
    expect(new X509Certificate(cert).validTo).toBe(new X509Certificate(authority.cert).validTo);
  });
});

test('a kubeconfig of another program is kept, ours is updated', async () => {
  const file = join(folder, 'kubeconfig');
  const parts = { url: 'https://127.0.0.1:8443', token: 'pat_x' };
  expect(await writeKubeconfig(file, parts)).toBe(true);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await writeKubeconfig(file, { ...parts, token: 'pat_y' })).toBe(true);
  expect(await readFile(file, 'utf8')).toContain('pat_y');
  await writeFile(file, 'apiVersion: v1\n');
  expect(await writeKubeconfig(file, parts)).toBe(false);
  expect(await readFile(file, 'utf8')).toBe('apiVersion: v1\n');
});
