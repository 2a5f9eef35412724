import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Client, Reader } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { leaseType, type Lease, type Log } from '#pkg/runtime/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { formatPublicKey, identityPrefix, keyAnnotation } from './identity-lease.ts';
import { ServerIdentity } from './server-identity.ts';
import { ServerKeys } from './server-keys.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const hour = 3_600_000;

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
});
afterAll(() => env.stop());

let lists: number;
let isAway: boolean;
let counted: Pick<Reader, 'list'>;
beforeEach(() => {
  lists = 0;
  isAway = false;
  counted = {
    list: (type, options) => {
      lists += 1;
      return isAway ? Promise.reject(new Error('away')) : client.list(type, options);
    },
  };
});

function identity(renewMs = 60_000): ServerIdentity {
  return new ServerIdentity({ client, log: silent, hostname: 'here', renewMs });
}

async function names(): Promise<string[]> {
  const { items } = await client.list(leaseType, { namespace: systemNamespace });
  return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith(identityPrefix));
}

function leaseOf(name: string, annotations: Record<string, string>, renewTime: string): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: systemNamespace, name, annotations },
    spec: { holderIdentity: name, leaseDurationSeconds: 60, renewTime },
  };
}

describe('the identity of a server', () => {
  test('is published by its lease from the start to the stop', async () => {
    const server = identity();
    const keys = new ServerKeys({ client: counted });
    server.start();
    await pollUntil(async () => (await names()).includes(server.name));
    const lease = await client.get(leaseType, { namespace: systemNamespace, name: server.name });
    expect(lease.metadata.annotations).toEqual({ [keyAnnotation]: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) });
    expect(lease.spec).toMatchObject({ leaseDurationSeconds: 180, holderIdentity: `here_${server.name}` });
    const key = await keys.find(server.name);
    expect(formatPublicKey(key!)).toBe(lease.metadata.annotations![keyAnnotation]);
    expect(JSON.stringify(server)).not.toContain('PRIVATE');
    await server.stop();
    expect(await names()).not.toContain(server.name);
    await server.stop();
  });

  test('is renewed, and recreated after somebody removed or emptied it', async () => {
    const server = identity(20);
    const key = { namespace: systemNamespace, name: server.name };
    server.start();
    await pollUntil(async () => (await names()).includes(server.name));
    const first = await client.get(leaseType, key);
    await pollUntil(async () => (await client.get(leaseType, key)).spec!.renewTime !== first.spec!.renewTime);
    await client.patch(leaseType, key, { type: 'merge', patch: { metadata: { annotations: null } } });
    await pollUntil(
      async () =>
        (await client.get(leaseType, key)).metadata.annotations?.[keyAnnotation] ===
        first.metadata.annotations![keyAnnotation],
    );
    await client.delete(leaseType, key);
    await pollUntil(async () => (await names()).includes(server.name));
    await server.stop();
    expect(await names()).toEqual([]);
  });

  test('removes the leases of servers that expired long ago, and no others', async () => {
    const long = new Date(Date.now() - hour).toISOString();
    await client.create(leaseType, leaseOf('svc-apiserver-gone', { [keyAnnotation]: 'x' }, long));
    await client.create(
      leaseType,
      leaseOf('svc-apiserver-slow', { [keyAnnotation]: 'x' }, new Date(Date.now() - 70_000).toISOString()),
    );
    await client.create(leaseType, leaseOf('svc-apiserver-foreign', {}, long));
    await client.create(leaseType, leaseOf('svc-apiserverless', { [keyAnnotation]: 'x' }, long));
    const server = identity();
    server.start();
    await pollUntil(async () => !(await names()).includes('svc-apiserver-gone'));
    await server.stop();
    const { items } = await client.list(leaseType, { namespace: systemNamespace });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(
      expect.arrayContaining(['svc-apiserver-slow', 'svc-apiserver-foreign', 'svc-apiserverless']),
    );
  });

  test('that was never started has nothing to remove', async () => {
    await identity().stop();
  });
});

describe('keys', () => {
  test('are read once for concurrent lookups, and not again for invented names', async () => {
    const server = identity();
    server.start();
    await pollUntil(async () => (await names()).includes(server.name));
    const keys = new ServerKeys({ client: counted });
    const found = await Promise.all(
      Array.from({ length: 50 }, (_, i) => keys.find(i % 2 === 0 ? server.name : `svc-apiserver-${i}`)),
    );
    expect(found.filter((key) => key !== undefined)).toHaveLength(25);
    for (let i = 0; i < 100; i += 1) expect(await keys.find(`svc-apiserver-invented-${i}`)).toBeUndefined();
    expect(await keys.find(server.name)).toBeDefined();
    expect(lists).toBe(1);
    await server.stop();
  });

  test('of an expired lease, or one without keys, are not found', async () => {
    await client.create(leaseType, leaseOf('svc-apiserver-none', { [keyAnnotation]: 'x' }, new Date().toISOString()));
    const server = identity();
    server.start();
    await pollUntil(async () => (await names()).includes(server.name));
    let now = Date.now();
    const keys = new ServerKeys({ client: counted, now: () => now });
    expect(await keys.find('svc-apiserver-none')).toBeUndefined();
    expect(await keys.find(server.name)).toBeDefined();
    now += 181_000;
    expect(await keys.find(server.name)).toBeUndefined();
    await server.stop();
    await client.delete(leaseType, { namespace: systemNamespace, name: 'svc-apiserver-none' });
  });

  test('of a lease without an end are not found, or expire like others', async () => {
    const key = formatPublicKey(generateKeyPairSync('ed25519').publicKey);
    const untimed = { holderIdentity: 'a', leaseDurationSeconds: 60 };
    const specs = {
      'svc-apiserver-ahead': { ...untimed, renewTime: '2099-01-01T00:00:00.000000Z' },
      'svc-apiserver-long': { ...untimed, leaseDurationSeconds: 2_000_000_000, renewTime: new Date().toISOString() },
      'svc-apiserver-untimed': untimed,
      'svc-apiserver-fast': { ...untimed, renewTime: new Date(Date.now() + 30_000).toISOString() },
    };
    for (const [name, spec] of Object.entries(specs))
      await client.create(leaseType, { ...leaseOf(name, { [keyAnnotation]: key }, ''), spec });
    let now = Date.now();
    const keys = new ServerKeys({ client: counted, now: () => now });
    const known = async (): Promise<string[]> => {
      const found = await Promise.all(Object.keys(specs).map(async (name) => [name, await keys.find(name)] as const));
      return found.flatMap(([name, each]) => (each === undefined ? [] : [name]));
    };
    expect(await known()).toEqual(['svc-apiserver-long', 'svc-apiserver-fast']);
    now += 595_000;
    expect(await known()).toEqual(['svc-apiserver-long']);
    now += 10_000;
    expect(await known()).toEqual([]);
    for (const name of Object.keys(specs)) await client.delete(leaseType, { namespace: systemNamespace, name });
  });

  test('cannot be read while the API is unavailable, and the next lookup may succeed', async () => {
    const keys = new ServerKeys({ client: counted });
    isAway = true;
    await expect(keys.find('svc-apiserver-x')).rejects.toThrow('away');
    await expect(keys.find('svc-apiserver-x')).rejects.toThrow('not known');
    expect(lists).toBe(1);
  });
});
