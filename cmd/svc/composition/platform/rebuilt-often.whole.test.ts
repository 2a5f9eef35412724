import { queryObjects, setFlagsFromString } from 'node:v8';
import { AccessService } from '#pkg/access/index';
import { PluginHost } from '#pkg/plugin/index';
import { PostgresStore } from '#pkg/storage/index';
import { LoopbackClient, Maintenance } from '#pkg/apiserver/index';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { FailoverDatabase } from '../../../../pkg/testenv/failover-database.ts';
import { pollUntil } from '../../../../pkg/testenv/faults/poll-until.ts';
import { startServedPlatform, type ServedPlatform } from './start-test-platform.ts';

const namespaces = '/api/v1/namespaces';
const waitMs = 60_000;
/** Rebuilds before the first count: caches and pools have grown by then. */
const warmUps = 3;
const rebuilds = 12;
/** Objects and log lines that the rounds add need less than half of it. */
const maxGrowthBytes = 10_000_000;
/** Classes of which an open platform has few objects. */
const parts = [PostgresStore, AccessService, PluginHost, Maintenance, LoopbackClient, pg.Pool];

let database: FailoverDatabase;
let server: ServedPlatform;
let collect: () => void;
const warnings: string[] = [];
const noteWarning = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);

beforeAll(async () => {
  setFlagsFromString('--expose-gc');
  collect = runInNewContext('gc') as () => void;
  process.on('warning', noteWarning);
  database = await FailoverDatabase.create();
  server = await startServedPlatform(database);
});
afterAll(async () => {
  process.off('warning', noteWarning);
  await server?.stop();
  await database?.drop();
});

async function create(name: string): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  // The connection may end before the answer.
  const send = (): Promise<number> =>
    server.call('POST', namespaces, body).then(
      ({ status }) => status,
      () => 0,
    );
  await pollUntil(async () => [201, 409].includes(await send()), waitMs, `${name} to be created`);
}

/** A failover that loses what the server knows. */
async function rebuild(round: number): Promise<void> {
  const done = (): number => server.lines.filter(({ msg }) => msg === 'rebuilt the state after a failover').length;
  const before = done();
  const standby = await database.detachStandby();
  await create(`lost-${round}`);
  await database.failOver(standby);
  await pollUntil(() => done() === before + 1, waitMs, `rebuild ${round}`);
  await create(`kept-${round}`);
}

type Counts = Record<string, number>;

function countEach(names: readonly string[]): Counts {
  const counts: Counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** The sessions of the server, by their names. */
async function sessions(): Promise<Counts> {
  const client = new pg.Client({ ...database.connection, application_name: 'test' });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    "SELECT application_name AS name FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'test'",
  );
  await client.end();
  return countEach(rows.map(({ name }) => name.replace(/ \d+@.*/, '')));
}

function listeners(): Counts {
  return Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));
}

interface Leftovers {
  sessions: Counts;
  /** What keeps the event loop alive: sockets, pipes, listeners, timers. */
  resources: Counts;
  listeners: Counts;
  /** Parts of the platform in memory. */
  parts: Counts;
  heapBytes: number;
}

/** Counts once the pools have closed the connections that they do not need. */
async function leftovers(): Promise<Leftovers> {
  await pollUntil(
    async () => Object.values(await sessions()).every((count) => count === 1),
    waitMs,
    'idle sessions to end',
  );
  collect();
  return {
    sessions: await sessions(),
    resources: countEach(process.getActiveResourcesInfo()),
    listeners: listeners(),
    parts: Object.fromEntries(parts.map((part) => [part.name, queryObjects(part, { format: 'count' })])),
    heapBytes: process.memoryUsage().heapUsed,
  };
}

/** What is more than in `before`. */
function excess(before: Counts, now: Counts): string[] {
  return Object.entries(now).flatMap(([name, count]) =>
    count > (before[name] ?? 0) ? [`${name}: ${count} instead of ${before[name] ?? 0}`] : [],
  );
}

test('rebuilds leave nothing behind', async () => {
  for (let round = 1; round <= warmUps; round += 1) await rebuild(round);
  const before = await leftovers();
  for (let round = warmUps + 1; round <= rebuilds; round += 1) await rebuild(round);
  const after = await leftovers();
  expect(excess(before.parts, after.parts)).toEqual([]);
  expect(excess(before.listeners, after.listeners)).toEqual([]);
  expect(after.heapBytes - before.heapBytes).toBeLessThan(maxGrowthBytes);
  await pollUntil(async () => excess(before.sessions, await sessions()).length === 0, waitMs, 'no other sessions');
  const resources = (): string[] => excess(before.resources, countEach(process.getActiveResourcesInfo()));
  await pollUntil(() => resources().length === 0, waitMs, 'no other sockets and timers').catch(() => undefined);
  expect(resources()).toEqual([]);
  expect(warnings.filter((each) => each.startsWith('MaxListenersExceededWarning'))).toEqual([]);
});
