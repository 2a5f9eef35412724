import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import type { AuditQuery, AuditRecord, AuditRow, StoredAuditRecord } from '#pkg/audit/index';
import { createOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('audited');
const dayMs = 86_400_000;
let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
});

afterAll(async () => {
  await store.close();
  await database.close();
  await testDatabase.drop();
});

const rowOf = (more: Partial<AuditRow> = {}): AuditRow => ({
  id: randomUUID(),
  username: 'mia',
  verb: 'create',
  code: 201,
  event: '{"kind":"Event"}',
  ...more,
});
const recordOf = (more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...rowOf({ code: 403 }),
  resource: 'posts.blog.example.com',
  namespace: 'n',
  name: 'p',
  ...more,
});

async function listAll(query: Partial<AuditQuery> = {}): Promise<StoredAuditRecord[]> {
  const found: StoredAuditRecord[] = [];
  for (let after = query.after; ;) {
    const { records, next } = await store.audit.list({
      selectors: {},
      limit: 100,
      ...query,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...records);
    if (next === undefined) return found;
    after = next;
  }
}

const partitions = async (): Promise<string[]> =>
  (
    await database.pool.query<{ name: string }>(
      "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'platform.audit_events'::regclass ORDER BY 1",
    )
  ).rows.map(({ name }) => name);

describe('a write', () => {
  test('has a row with its revision, if it takes place', async () => {
    const username = 'one';
    const created = await store.write(createOf(model, sampleObject('a')), { audit: rowOf({ username }) });
    await expect(store.write(createOf(model, sampleObject('a')), { audit: rowOf({ username }) })).rejects.toMatchObject(
      { code: 'AlreadyExists' },
    );
    await store.write(createOf(model, sampleObject('a-dry')), { audit: rowOf({ username }), dryRun: true });
    expect(await listAll({ selectors: { username } })).toEqual([
      expect.objectContaining({
        username,
        verb: 'create',
        code: 201,
        revision: created.revision,
        resource: 'audited.store.example.com',
        namespace: created.namespace,
        name: 'a',
        event: '{"kind":"Event"}',
      }),
    ]);
  });

  test('has a row of its own in a batch, where only some writes are kept', async () => {
    const username = 'batch';
    const idempotency = { user: 'u', method: 'POST', path: '/p', key: 'k', bodyHash: 'h' };
    const outcomes = await Promise.allSettled([
      store.write(createOf(model, sampleObject('b1')), { audit: rowOf({ username }) }),
      store.write(createOf(model, sampleObject('b2'))),
      store.write(createOf(model, sampleObject('b3')), { audit: rowOf({ username }), idempotency }),
      store.write(createOf(model, sampleObject('b1')), { audit: rowOf({ username }) }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    const revisions = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value.revision] : []));
    const rows = await listAll({ selectors: { username } });
    expect(new Map(rows.map(({ name, revision }) => [name, revision]))).toEqual(
      new Map([
        ['b1', revisions[0]],
        ['b3', revisions[2]],
      ]),
    );
    expect(rows).toHaveLength(2);
  });

  test('has a row as update and as deletion', async () => {
    const username = 'later';
    const from = await store.write(createOf(model, sampleObject('c')));
    const resource = { group: model.group, resource: model.names.plural };
    const object = sampleObject('c', { spec: { title: 'new' } });
    const updated = await store.write(
      { type: 'update', resource, object, fingerprint: from.fingerprint, from },
      { audit: rowOf({ username, verb: 'patch', code: 200 }) },
    );
    const deleted = await store.write(
      { type: 'delete', resource, object, fingerprint: from.fingerprint, from: updated },
      { audit: rowOf({ username, verb: 'delete', code: 200 }) },
    );
    expect((await listAll({ selectors: { username } })).map(({ verb, revision }) => [verb, revision])).toEqual([
      ['delete', deleted.revision],
      ['patch', updated.revision],
    ]);
  });
});

describe('a list', () => {
  test('selects by each column and by time, the newest first', async () => {
    const id = randomUUID();
    const before = Date.now() - 1000;
    await store.audit.append([recordOf({ id, name: 'first' }), recordOf({ resource: '' })]);
    await store.audit.append([recordOf({ id, name: 'last', verb: 'list', namespace: '' })]);
    expect((await listAll({ selectors: { id } })).map(({ name, revision }) => [name, revision])).toEqual([
      ['last', undefined],
      ['first', undefined],
    ]);
    const selected = (selectors: AuditQuery['selectors']): Promise<StoredAuditRecord[]> =>
      listAll({ selectors: { id, ...selectors } });
    expect(await selected({ verb: 'list' })).toHaveLength(1);
    expect(await selected({ code: 403, resource: 'posts.blog.example.com' })).toHaveLength(2);
    expect(await selected({ code: 200 })).toEqual([]);
    expect(await selected({ namespace: '' })).toHaveLength(1);
    expect(await selected({ name: "'; DROP TABLE x; --" })).toEqual([]);
    expect(await listAll({ selectors: { id }, to: before })).toEqual([]);
    expect(await listAll({ selectors: { id }, from: before })).toHaveLength(2);
  });

  test('in pages has each row once, though rows share a time', async () => {
    const username = 'paged';
    await store.audit.append(Array.from({ length: 25 }, (_, i) => recordOf({ username, name: `p${i}` })));
    const id = randomUUID();
    await Promise.all(
      Array.from({ length: 5 }, (_, i) =>
        store.write(createOf(model, sampleObject(`d${i}`)), { audit: rowOf({ id, username }) }),
      ),
    );
    await database.pool.query(
      "UPDATE platform.audit_events SET at = date_trunc('day', now()) WHERE username = 'paged'",
    );
    const all = await listAll({ selectors: { username }, limit: 4 });
    expect(new Set(all.map(({ name }) => name)).size).toBe(30);
    expect(all).toHaveLength(30);
  });

  test('finds rows of any age', async () => {
    const username = 'old';
    await store.audit.append([1, 2, 3].map((n) => recordOf({ username, name: `${n}` })));
    await database.pool.query(
      "UPDATE platform.audit_events SET at = now() - name::int * interval '45 days' WHERE username = 'old'",
    );
    expect((await listAll({ selectors: { username }, limit: 2 })).map(({ name }) => name)).toEqual(['1', '2', '3']);
    const newest = Date.now() - 60 * dayMs;
    expect((await listAll({ selectors: { username }, to: newest })).map(({ name }) => name)).toEqual(['2', '3']);
  });
});

describe('maintenance', () => {
  test('makes partitions ahead, and keeps rows of other days', async () => {
    const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');
    const present = await partitions();
    expect(present).toHaveLength(9);
    expect(present).toContain(`platform.audit_events_${today}`);
    await store.audit.maintain({});
    expect(await partitions()).toEqual(present);
  });

  test('drops days beyond the retention, and such rows of the default partition', async () => {
    const day = new Date(Date.now() - 10 * dayMs).toISOString().slice(0, 10);
    const next = new Date(Date.now() - 9 * dayMs).toISOString().slice(0, 10);
    const name = `platform.audit_events_${day.replaceAll('-', '')}`;
    await database.pool.query(
      `CREATE TABLE ${name} PARTITION OF platform.audit_events FOR VALUES FROM ('${day}Z') TO ('${next}Z')`,
    );
    const username = 'kept';
    await store.audit.append([5, 20].map((n) => recordOf({ username, name: `${n}` })));
    await database.pool.query(
      "UPDATE platform.audit_events SET at = now() - name::int * interval '1 day' WHERE username = 'kept'",
    );
    await store.audit.maintain({ retentionDays: 30 });
    expect([await partitions(), (await listAll({ selectors: { username } })).length]).toEqual([
      expect.arrayContaining([name]),
      2,
    ]);
    await store.audit.maintain({ retentionDays: 7 });
    expect([
      (await partitions()).includes(name),
      (await listAll({ selectors: { username } })).map((r) => r.name),
    ]).toEqual([false, ['5']]);
  });

  test('a day of which the default partition has rows gets no partition, and the days after it do', async () => {
    const ahead = await partitions();
    const last = ahead
      .filter((name) => /\d$/.test(name))
      .toSorted()
      .at(-1)!;
    await database.pool.query(`DROP TABLE ${last}`);
    const at = `${last.slice(-8, -4)}-${last.slice(-4, -2)}-${last.slice(-2)}T12:00:00Z`;
    await store.audit.append([recordOf({ username: 'early' })]);
    await database.pool.query("UPDATE platform.audit_events SET at = $1 WHERE username = 'early'", [at]);
    await store.audit.maintain({});
    expect(await partitions()).toEqual(ahead.filter((name) => name !== last));
    expect(await listAll({ selectors: { username: 'early' } })).toHaveLength(1);
    await database.pool.query("DELETE FROM platform.audit_events WHERE username = 'early'");
    await store.audit.maintain({});
    expect(await partitions()).toEqual(ahead);
  });

  test('writes go on while it runs', async () => {
    const session = await database.newClient();
    await session.query(
      "BEGIN; INSERT INTO platform.audit_events (id, code, username, verb, resource, namespace, name, event) SELECT gen_random_uuid(), 200, 'open', '', '', '', '', ''",
    );
    // The open transaction blocks the removal of a day, which is left for a later round.
    await database.pool.query(
      "CREATE TABLE platform.audit_events_20200101 (LIKE platform.audit_events); ALTER TABLE platform.audit_events ATTACH PARTITION platform.audit_events_20200101 FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z')",
    );
    await store.audit.maintain({ retentionDays: 7 });
    expect(await partitions()).toContain('platform.audit_events_20200101');
    await session.query('COMMIT');
    await session.end();
    await store.audit.maintain({ retentionDays: 7 });
    expect(await partitions()).not.toContain('platform.audit_events_20200101');
  });
});
