import { expect, test } from '@jest/globals';
import { startAccessTest, type AccessTestOptions } from '../accesstest/start-access-test.ts';
import { listAnswer } from './list-answer.ts';
import type { Operation } from './operation.ts';

const path = '/api/v1/things/';
const rows = [1, 2, 3];
const things: Operation = {
  method: 'GET',
  path,
  operationId: 'things',
  access: 'open',
  handle: (call) =>
    listAnswer(call, {
      async *all() {
        yield rows;
      },
      page: async ({ limit, offset }) => ({ count: rows.length, rows: rows.slice(offset, offset + limit) }),
      present: (n) => ({ n }),
    }),
};

const proxied = { Host: 'inner:8091', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'front.example.com' };
const publicUrl = 'https://access.example.com';
const local = ['127.0.0.1'];

test.each<{
  reason: string;
  options: Omit<AccessTestOptions, 'operations'>;
  headers: Record<string, string>;
  base: string;
}>([
  {
    reason: 'with the public URL, for any Host',
    options: { publicUrl },
    headers: { Host: 'evil.example' },
    base: publicUrl,
  },
  {
    reason: 'with the public URL, for any header of a trusted proxy',
    options: { publicUrl, trustedProxies: local },
    headers: proxied,
    base: publicUrl,
  },
  {
    reason: 'with the headers of a trusted proxy',
    options: { trustedProxies: local },
    headers: proxied,
    base: 'https://front.example.com',
  },
  {
    reason: 'with Host, for any header of an untrusted proxy',
    options: {},
    headers: proxied,
    base: 'http://inner:8091',
  },
])('links of lists begin $reason', async ({ options, headers, base }) => {
  const server = await startAccessTest({ ...options, operations: () => [things] });
  try {
    const { json } = await server.send('GET', `${path}?limit=1&offset=1&x=%26`, { headers });
    expect(json).toMatchObject({
      next: `${base}${path}?limit=1&offset=2&x=%26`,
      previous: `${base}${path}?limit=1&offset=0&x=%26`,
    });
  } finally {
    await server.stop();
  }
});
