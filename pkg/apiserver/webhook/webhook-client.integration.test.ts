import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestWebhook, type TestWebhook } from '../conversiontest/start-test-webhook.ts';
import { WebhookClient } from './webhook-client.ts';
import { WebhookPolicy } from './webhook-policy.ts';

let webhook: TestWebhook;
let silent: Server;
let silentPort: number;

beforeAll(async () => {
  webhook = await startTestWebhook();
  // Without a reader the end of a connection would not be noticed.
  silent = createServer((socket) => void socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
  silentPort = (silent.address() as AddressInfo).port;
});
afterAll(async () => {
  await webhook.stop();
  await new Promise((resolve) => void silent.close(resolve));
});

const body = '{"request":{"uid":"u","desiredAPIVersion":"a/v1","objects":[]}}';

interface Call {
  url?: string;
  networks?: string[];
  authorities?: string | undefined;
  timeoutMs?: number;
  signal?: AbortSignal;
}

async function call({ networks = ['127.0.0.0/8', '::1'], timeoutMs = 5_000, signal, ...given }: Call): Promise<string> {
  const { url = webhook.url, authorities = Buffer.from(webhook.caBundle, 'base64').toString() } = given;
  const policy = new WebhookPolicy({ allowedHosts: [new URL(url).host], allowedNetworks: networks, timeoutMs });
  const isTrusted = !('authorities' in given) || given.authorities !== undefined;
  const client = new WebhookClient({ url, policy, ...(isTrusted ? { authorities } : {}) });
  try {
    return String(await client.post({ body, maxBytes: 10_000, signal }));
  } finally {
    client.close();
  }
}

test('gets the answer, by address and by name', async () => {
  expect(await call({})).toContain('"Success"');
  expect(await call({ url: webhook.url.replace('127.0.0.1', 'localhost'), networks: ['127.0.0.0/8'] })).toContain(
    '"Success"',
  );
});

test.each<{ reason: string; given: () => Call; kind: string; message: string }>([
  {
    reason: 'a name that leads to an address that is not allowed',
    given: () => ({ url: webhook.url.replace('127.0.0.1', 'localhost'), networks: [] }),
    kind: 'refused',
    message: 'its address is not public, and svc.webhooks.allowed-networks does not allow it',
  },
  {
    reason: 'an address that is not allowed',
    given: () => ({ networks: ['10.0.0.0/8'] }),
    kind: 'refused',
    message: 'its address is not public, and svc.webhooks.allowed-networks does not allow it',
  },
  {
    reason: 'a certificate of an unknown authority',
    given: () => ({ authorities: undefined }),
    kind: 'unreachable',
    message: 'the connection failed: DEPTH_ZERO_SELF_SIGNED_CERT',
  },
  {
    reason: 'a server that says nothing',
    given: () => ({ url: `https://127.0.0.1:${silentPort}`, timeoutMs: 200 }),
    kind: 'unreachable',
    message: 'no answer within 200 ms',
  },
])('fails for $reason', async ({ given, kind, message }) => {
  await expect(call(given())).rejects.toMatchObject({ name: 'WebhookError', kind, message });
});

test('fails when the answer stops in the middle', async () => {
  webhook.answer = (response) => {
    response.write('{"a":');
    response.socket!.end();
    setImmediate(() => response.destroy());
  };
  try {
    await expect(call({})).rejects.toMatchObject({
      kind: 'unreachable',
      message: 'the connection was closed before the answer was complete',
    });
  } finally {
    webhook.answer = undefined;
  }
});

test('ends with the request that it is for', async () => {
  const abort = new AbortController();
  const pending = call({ url: `https://127.0.0.1:${silentPort}`, signal: abort.signal });
  abort.abort();
  await expect(pending).rejects.toMatchObject({ name: 'StatusError', code: 504 });
});
