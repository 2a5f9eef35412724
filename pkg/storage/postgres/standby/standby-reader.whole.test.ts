import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { awaitStandby, waitingForStandby } from '../../../testenv/standby-wait.ts';
import { StreamingStandby } from '../../../testenv/streaming-standby.ts';
import type { Change } from '../../change.ts';
import type { StoredObject } from '../../store.ts';
import { createOf, deleteOf, resourceOf, sampleModel, sampleObject, updateOf } from '../../storetest/sample-model.ts';
import { PostgresStore } from '../postgres-store.ts';

const model = sampleModel('read', { indexes: [] });
const resource = resourceOf(model);
const all = { selector: { labels: [], fields: [] }, sort: [] };
const keyOf = (name: string): { namespace: string; name: string } => ({ namespace: '', name });
const timeoutMs = 30_000;

let servers: StreamingStandby;
let primary: Database;
let standby: Database;
/** A server without a standby, as others are that write meanwhile. */
let writer: PostgresStore;
let reader: PostgresStore;
const delivered: Change[] = [];

beforeAll(async () => {
  servers = await StreamingStandby.start();
  primary = await Database.connect({ connection: servers.primary, log: silentLog });
  standby = await Database.connect({ connection: servers.standby, log: silentLog, poolSize: 1 });
  writer = await PostgresStore.open({ database: primary, log: silentLog });
  await writer.ensureModel(model);
  reader = await PostgresStore.open({ database: primary, readDatabase: standby, log: silentLog });
  reader.changes.subscribe((changes) => delivered.push(...changes));
});

afterAll(async () => {
  await Promise.all([reader.close(), writer.close()]);
  await Promise.all([primary.close(), standby.close()]);
  await servers.stop();
});

const create = (name: string): Promise<StoredObject> => writer.write(createOf(model, sampleObject(name)));
const names = (objects: readonly StoredObject[]): string[] => objects.map(({ name }) => name);

async function listed(): Promise<{ names: string[]; revision: number }> {
  const { items, revision } = await reader.reads.chunk(resource, { ...all, limit: 500 });
  return { names: names(items), revision };
}

function isDelivered(revision: number): Promise<void> {
  return pollUntil(async () => delivered.some((change) => change.revision === revision), timeoutMs, 'the change');
}

/** The standby replays nothing while `work` runs. */
async function whilePaused(work: () => Promise<void>): Promise<void> {
  const operator = await standby.newClient();
  try {
    await operator.query('SELECT pg_wal_replay_pause()');
    await pollUntil(
      async () =>
        (await operator.query("SELECT FROM pg_get_wal_replay_pause_state() s WHERE s = 'paused'")).rowCount === 1,
      timeoutMs,
      'replay to pause',
    );
    await work();
  } finally {
    await operator.query('SELECT pg_wal_replay_resume()');
    await operator.end();
  }
}

const isCaughtUp = (): Promise<void> =>
  pollUntil(async () => (await listed().catch(() => undefined)) !== undefined, timeoutMs, 'the standby');

test('every read shows what was written before it, from the standby', async () => {
  for (let i = 0; i < 20; i += 1) {
    const written = await create(`seen-${i}`);
    const [found, list] = await Promise.all([reader.reads.get(resource, keyOf(written.name)), listed()]);
    expect(found).toMatchObject({ name: written.name, revision: written.revision });
    expect(list.names).toContain(written.name);
    expect(list.revision).toBeGreaterThanOrEqual(written.revision);
    const changed = await reader.write(updateOf(model, written, { i }));
    const page = await reader.reads.page(resource, {
      ...all,
      page: 1,
      size: 50,
      exactTotal: false,
      exactTotalLimit: 1000,
    });
    expect(page.items.find(({ name }) => name === written.name)?.revision).toBe(changed.revision);
    expect(page.total).toBe(i + 1);
    await isDelivered(changed.revision);
  }
  const stream = await reader.reads.stream(resource, { ...all, order: 'sort' });
  const streamed: string[] = [];
  for await (const objects of stream.objects) streamed.push(...names(objects));
  expect(streamed).toHaveLength(20);
  // The changes came in order, each once, by both writers.
  expect(delivered.map(({ revision }) => revision)).toEqual(
    [...new Set(delivered.map(({ revision }) => revision))].toSorted((a, b) => a - b),
  );
  const { rows } = await standby.pool.query<{ count: string }>(
    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%standby%' AND query LIKE '%m\\_%'",
  );
  expect(Number(rows[0]!.count)).toBeGreaterThan(0);
});

test('what is deleted is gone at once', async () => {
  const written = await create('deleted');
  expect(await reader.reads.get(resource, keyOf('deleted'))).toBeDefined();
  await writer.write(deleteOf(model, written));
  expect(await reader.reads.get(resource, keyOf('deleted'))).toBeUndefined();
  expect((await listed()).names).not.toContain('deleted');
});

test('history is read from the standby, up to what was delivered', async () => {
  const first = await create('history');
  const second = await writer.write(updateOf(model, first, { again: true }));
  await isDelivered(second.revision);
  const { changes, upTo } = await reader.changes.read(resource, first.revision - 1);
  expect(changes.map(({ revision }) => revision)).toEqual([first.revision, second.revision]);
  expect(upTo).toBeGreaterThanOrEqual(second.revision);
});

test('a standby that stays behind refuses reads, and holds up neither writes nor watches', async () => {
  await whilePaused(async () => {
    const written = await reader.write(createOf(model, sampleObject('behind')));
    const other = await create('behind-too');
    await isDelivered(written.revision);
    await isDelivered(other.revision);
    for (const read of [listed(), reader.reads.get(resource, keyOf('behind'))])
      await expect(read).rejects.toMatchObject({
        code: 'Unavailable',
        message: 'the standby that answers reads is behind the primary database: its replay is paused',
      });
    expect(await reader.get(resource, keyOf('behind-too'))).toMatchObject({ revision: other.revision });
    expect(reader.state().standby!.lagRevisions).toBeGreaterThan(0);
    expect(reader.state().standby!.refusals).toBeGreaterThan(0);
  });
  await isCaughtUp();
  expect((await listed()).names).toContain('behind');
});

test('a model that the standby does not have yet is read from the primary', async () => {
  const late = sampleModel('late', { indexes: [] });
  await whilePaused(async () => {
    await writer.ensureModel(late);
    expect((await reader.reads.chunk(resourceOf(late), { ...all, limit: 1 })).items).toEqual([]);
    expect(await reader.reads.get(resourceOf(late), keyOf('absent'))).toBeUndefined();
  });
});

test('nothing is given out that the standby shows and the primary has not confirmed', async () => {
  const before = await create('kept');
  await isDelivered(before.revision);
  await awaitStandby(primary, 'away');
  const creating = create('unconfirmed');
  const deleting = writer.write(deleteOf(model, before));
  await pollUntil(async () => (await waitingForStandby(primary)) !== undefined, timeoutMs, 'the commit to wait');
  const shown = async (): Promise<number> =>
    (await standby.pool.query("SELECT FROM platform.change_log WHERE name = 'unconfirmed'")).rowCount!;
  await pollUntil(async () => (await shown()) === 1, timeoutMs, 'the standby to show the commit');
  const unconfirmed = {
    code: 'Unavailable',
    message: 'the primary database has not confirmed what its standby shows',
  };
  await Promise.all([
    expect(listed()).rejects.toMatchObject(unconfirmed),
    expect(reader.reads.get(resource, keyOf('unconfirmed'))).rejects.toMatchObject(unconfirmed),
    expect(reader.reads.stream(resource, { ...all, order: 'sort' })).rejects.toMatchObject(unconfirmed),
  ]);
  // What a lost commit may have deleted is still there.
  expect(await reader.reads.get(resource, keyOf('kept'))).toMatchObject({ revision: before.revision });
  expect(reader.changes.cursor).toBe(before.revision);
  expect(delivered.at(-1)?.revision).toBe(before.revision);
  await awaitStandby(primary, '');
  const created = await creating;
  const deleted = await deleting;
  expect((await listed()).names).toContain('unconfirmed');
  expect(await reader.reads.get(resource, keyOf('kept'))).toBeUndefined();
  await isDelivered(Math.max(created.revision, deleted.revision));
});

test('no answer rests on the revisions of a new primary before it has jumped over the lost ones', async () => {
  const before = await create('before-takeover');
  await primary.pool.query("UPDATE platform.meta SET timeline = 'the one before'");
  const { rows } = await primary.pool.query<{ by_time: string }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 100000)::bigint AS by_time',
  );
  const { revision } = await listed();
  expect(revision).toBeGreaterThanOrEqual(Number(rows[0]!.by_time));
  expect(await reader.reads.get(resource, keyOf('before-takeover'))).toMatchObject({ revision: before.revision });
});

test('a server that is no copy of the primary is not read', async () => {
  const other = await StreamingStandby.start();
  const strange = await Database.connect({ connection: other.primary, log: silentLog });
  const store = await PostgresStore.open({ database: primary, readDatabase: strange, log: silentLog });
  await expect(store.reads.get(resource, keyOf('kept'))).rejects.toMatchObject({
    code: 'Unavailable',
    message: 'the database of svc.database.read-url is no standby of the primary',
  });
  await store.close();
  await strange.close();
  await other.stop();
});

test('while the standby is down, or its sessions are ended, reads are refused or tried again', async () => {
  await servers.withoutStandby(async () => {
    const written = await create('without');
    await isDelivered(written.revision);
    await expect(listed()).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringMatching(/^no read from the standby: the database /),
    });
  });
  await isCaughtUp();
  expect((await listed()).names).toContain('without');
  const reads = Promise.all(Array.from({ length: 20 }, () => listed()));
  await standby.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '%standby%'",
  );
  expect((await reads).every((list) => list.names.includes('without'))).toBe(true);
});

test('a standby that is promoted goes on as long as it has what the primary confirms', async () => {
  const operator = await standby.newClient();
  const last = await create('last');
  await isCaughtUp();
  await operator.query('SELECT pg_promote(true, 60)');
  await operator.end();
  expect((await listed()).names).toContain('last');
  const next = await create('lost');
  expect(next.revision).toBeGreaterThan(last.revision);
  await isDelivered(next.revision);
  await expect(listed()).rejects.toMatchObject({
    message: 'the standby that answers reads is behind the primary database: it was promoted, and follows it no more',
  });
});

test('when it takes over, what it lacks is given out by nobody, and reads go on there', async () => {
  const revision = await writer.changes.catchUp();
  await servers.losePrimary();
  const given: string[] = [];
  let isRewound = false;
  void reader.rewound.then(() => (isRewound = true));
  await pollUntil(
    async () => {
      given.push(...((await listed().catch(() => undefined))?.names ?? []));
      return isRewound;
    },
    timeoutMs,
    'the reader to notice that it knows a lost change',
  );
  expect(await reader.rewound).toBe('failover');
  expect(given).not.toContain('lost');
  await reader.close();
  reader = await PostgresStore.open({ database: primary, readDatabase: standby, log: silentLog });
  expect(reader.changes.isLost(revision)).toBe(true);
  expect(await reader.reads.get(resource, keyOf('lost'))).toBeUndefined();
  const written = await reader.write(createOf(model, sampleObject('after')));
  const list = await listed();
  expect(list.names).toEqual(expect.arrayContaining(['last', 'after']));
  expect(list.names).not.toContain('lost');
  expect(list.revision).toBeGreaterThanOrEqual(written.revision);
});
