import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import {
  AccessDatabase,
  accessMigrations,
  ObjectSealer,
  openKeyRing,
  rotateKeys,
  type KeyRing,
  type RotationResult,
} from '#pkg/access/index';
import type { AnyObject, ObjectMeta, ResourceType } from '#pkg/apimachinery/index';
import { createPlatformRegistry, LoopbackClient, MastersAuthorizer } from '#pkg/apiserver/index';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { systemMasters } from '#pkg/identity/index';
import { PostgresStore } from '#pkg/storage/index';
import { createTestDatabase, type TestDatabase } from '#pkg/testenv/index';
import { sealedObjects } from './sealed-objects.ts';

interface Secret extends AnyObject {
  metadata: ObjectMeta;
  data?: Record<string, string>;
}

const secretType: ResourceType<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  hasStatusSubresource: false,
};
const log = pino({ level: 'silent' });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

let home: TestDatabase;
let database: Database;
let access: AccessDatabase;
let dataDir: string;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  access = new AccessDatabase(database);
  dataDir = mkdtempSync(join(tmpdir(), 'svc-sealed-'));
});

afterAll(async () => {
  await database.close();
  await home.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** A server that has the keys of the file. */
async function startServer(): Promise<{ client: LoopbackClient; ring: KeyRing; stop: () => Promise<void> }> {
  const ring = await openKeyRing(access, { dataDir });
  const own = await Database.connect({ connection: home.connection, log: silentLog });
  const store = await PostgresStore.open({ database: own, log: silentLog });
  const registry = await createPlatformRegistry({ store, log, sealer: new ObjectSealer(ring) });
  const user = { name: 'root', uid: '', groups: [systemMasters] };
  const client = new LoopbackClient({ registry, authorizer: new MastersAuthorizer(), user });
  return {
    client,
    ring,
    stop: async () => {
      client.close();
      await registry.stop();
      await store.close();
      await own.close();
    },
  };
}

async function rotate(dropOld: boolean): Promise<RotationResult> {
  const ring = await openKeyRing(access, { dataDir });
  const rotation = rotateKeys({ database: access, ring, objects: sealedObjects(database.pool), dropOld });
  for (;;) {
    const { done, value } = await rotation.next();
    if (done === true) return value;
  }
}

function newSecret(name: string, value: string): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'default', name },
    data: { a: base64(value) },
  };
}

/** The values of all events after a revision. */
async function history(client: LoopbackClient, resourceVersion: string, count: number): Promise<unknown[]> {
  const stream = await client.watch(secretType, { resourceVersion });
  const values: unknown[] = [];
  for await (const event of stream) {
    if (event.type === 'BOOKMARK') continue;
    values.push([event.type, event.object.metadata.name, event.object.data]);
    if (values.length === count) break;
  }
  stream.close();
  return values;
}

test('a rotation seals Secrets and their history again, without a change of them', async () => {
  const server = await startServer();
  const start = (await server.client.list(secretType)).resourceVersion;
  const kept = await server.client.create(secretType, newSecret('kept', 'first'));
  const changed = await server.client.patch(
    secretType,
    { namespace: 'default', name: 'kept' },
    { type: 'merge', patch: { data: { a: base64('second') } } },
  );
  await server.client.create(secretType, newSecret('gone', 'third'));
  await server.client.delete(secretType, { namespace: 'default', name: 'gone' });
  await database.pool.query(
    `INSERT INTO platform.idempotency_keys (username, method, path, key, body_hash, rev, namespace, name, body, fingerprint)
       SELECT 'u', 'PATCH', '/', 'k', '', rev, namespace, name, new, new_fingerprint FROM platform.change_log WHERE rev = $1`,
    [changed.metadata.resourceVersion],
  );
  const old = server.ring.primary.id;

  const first = await rotate(false);
  expect(first).toMatchObject({ objects: 1, unreadable: 0, isNewKey: true });
  expect(await rotate(true)).toMatchObject({ objects: 0, unreadable: 0, dropped: 1 });

  const events = [
    ['ADDED', 'kept', { a: base64('first') }],
    ['MODIFIED', 'kept', { a: base64('second') }],
    ['ADDED', 'gone', { a: base64('third') }],
    ['DELETED', 'gone', { a: base64('third') }],
  ];
  // The server has texts of the old key in memory, and still opens them.
  expect(await history(server.client, start, 4)).toEqual(events);
  await server.stop();

  const next = await startServer();
  expect(next.ring.keys.map(({ id }) => id)).not.toContain(old);
  const read = await next.client.get(secretType, { namespace: 'default', name: 'kept' });
  expect(read).toMatchObject({
    metadata: { uid: kept.metadata.uid, resourceVersion: changed.metadata.resourceVersion },
    data: { a: base64('second') },
  });
  expect(await history(next.client, start, 4)).toEqual(events);
  await next.stop();
  const { rows } = await database.pool.query<{ body: string }>(
    `SELECT body FROM platform.idempotency_keys WHERE key = 'k'`,
  );
  const { sealed } = JSON.parse(rows[0]!.body) as { sealed: string };
  expect(new ObjectSealer(next.ring).isCurrent(sealed)).toBe(true);
});

test('a Secret that cannot be opened is counted, and its key is kept', async () => {
  const server = await startServer();
  await server.client.create(secretType, newSecret('spoiled', 'x'));
  await server.client.create(secretType, newSecret('other', 'y'));
  await server.stop();
  const { rows } = await database.pool.query<{ id: number }>(
    "SELECT id FROM platform.models WHERE api_group = '' AND resource = 'secrets'",
  );
  const table = `platform.m_${rows[0]!.id}`;
  await database.pool.query(
    `UPDATE ${table} SET body = (SELECT body FROM ${table} WHERE name = 'other') WHERE name = 'spoiled'`,
  );
  expect(await rotate(false)).toMatchObject({ unreadable: 1, isNewKey: true });
  expect(await rotate(true)).toMatchObject({ unreadable: 1, dropped: 0, old: 1 });
});
