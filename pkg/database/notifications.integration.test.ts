import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { Database } from './database.ts';
import { silentLog } from './log.ts';
import { Notifications, type NotificationsOptions } from './notifications.ts';

let home: TestDatabase;
let database: Database;
let notifications: Notifications;
beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
});
beforeEach(() => newNotifications({ database, log: silentLog }));
afterEach(() => notifications.stop());
afterAll(async () => {
  await database.close();
  await home.drop();
});

function newNotifications(options: NotificationsOptions): void {
  notifications = new Notifications({ longestBackOffMs: 100, ...options });
}

function notify(channel: string, payload: string): Promise<unknown> {
  return database.pool.query('SELECT pg_notify($1, $2)', [channel, payload]);
}

function nextPayload(channel: string): { heard: Promise<string>; listening: Promise<() => void> } {
  let listening: Promise<() => void> = Promise.resolve(() => {});
  const heard = new Promise<string>((resolve) => {
    listening = notifications.on(channel, resolve);
  });
  return { heard, listening };
}

const reconnected = (): Promise<void> => new Promise((resolve) => void notifications.onReconnect(resolve));

test('each channel has its listeners, added before or after the start, until they are removed', async () => {
  const heard: string[] = [];
  await notifications.on('Early', (payload) => heard.push(`early ${payload}`));
  await Promise.all([notifications.start(), notifications.start()]);
  const leave = await notifications.on('late; DROP', (payload) => heard.push(`late ${payload}`));
  await notify('Early', '1');
  await notify('late; DROP', '2');
  await notify('early', 'another channel');
  const middle = nextPayload('middle');
  await middle.listening;
  await notify('middle', '');
  await middle.heard;
  leave();
  await notify('late; DROP', '3');
  const end = nextPayload('end');
  await end.listening;
  await notify('end', '');
  expect(await end.heard).toBe('');
  expect(heard).toEqual(['early 1', 'late 2']);
});

test('a listener that throws does not stop the others', async () => {
  await notifications.start();
  await notifications.on('news', () => {
    throw new Error('not my day');
  });
  const { heard, listening } = nextPayload('news');
  await listening;
  await notify('news', 'good');
  expect(await heard).toBe('good');
});

test('a broken connection is opened again, and listeners are informed', async () => {
  await notifications.start();
  const { heard, listening } = nextPayload('news');
  await listening;
  const again = reconnected();
  await database.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
  );
  await again;
  await notify('news', 'after');
  expect(await heard).toBe('after');
});

test('a dead connection is detected and opened again', async () => {
  const proxy = await startProxy(home.connection);
  const proxied = await Database.connect({ connection: proxy.connection, log: silentLog });
  newNotifications({ database: proxied, log: silentLog, probeIntervalMs: 20, probeTimeoutMs: 100 });
  await notifications.start();
  const { heard, listening } = nextPayload('news');
  await listening;
  const again = reconnected();
  proxy.freeze();
  await again;
  await notify('news', 'after');
  expect(await heard).toBe('after');
  await notifications.stop();
  await proxied.close();
  await proxy.stop();
});

test('without a database it starts anyway and retries until it is stopped', async () => {
  const closed = await Database.connect({ connection: home.connection, log: silentLog });
  await closed.close();
  newNotifications({ database: closed, log: silentLog });
  await notifications.start();
  await notifications.on('news', () => {});
  await Promise.all([notifications.stop(), notifications.stop()]);
});

interface Proxy {
  readonly connection: pg.ClientConfig;
  /** From now on the existing connections transmit nothing. */
  freeze(): void;
  stop(): Promise<void>;
}

async function startProxy(connection: pg.ClientConfig): Promise<Proxy> {
  const { host, port, user, database: name = '', password = '' } = new pg.Client(connection);
  const folder = mkdtempSync(join(tmpdir(), 'svc-proxy-'));
  const sockets = new Set<Socket>();
  const server: Server = createServer((near) => {
    const far = host.startsWith('/') ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host);
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(join(folder, '.s.PGSQL.5432'), resolve));
  return {
    connection: { host: folder, port: 5432, user: user ?? '', database: name, password: password ?? '', ssl: false },
    freeze: () => sockets.forEach((socket) => socket.unpipe().pause()),
    stop: async () => {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}
