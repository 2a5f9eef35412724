import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { EmbeddedPostgres } from '#pkg/database/index';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { startPasswordPostgres } from '../../../pkg/testenv/password-postgres.ts';
import { killPrograms, startServe, type Served } from '../start-test-program.ts';

const namespaces = '/api/v1/namespaces';
const accepted = 'using the new user and password of the database';
const refused = 'the database refuses the new user and password; the ones before stay in use';

let folder: string;
let postgres: EmbeddedPostgres;
let owner: pg.Client;
let served: Served;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-rotated-password-'));
  postgres = await startPasswordPostgres(folder, ['app']);
  owner = new pg.Client(postgres.connection);
  await owner.connect();
  await owner.query("CREATE ROLE app LOGIN PASSWORD 'first'");
  await owner.query('CREATE DATABASE svc OWNER app');
  await writeUrl('first');
  served = await startServe(join(folder, 'server'), [`--svc.database.url-file=${file()}`]);
});
afterAll(async () => {
  await killPrograms();
  await owner?.end();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

const file = (): string => join(folder, 'url');

async function writeUrl(password: string): Promise<void> {
  const { host, port } = postgres.connection;
  await writeFile(`${file()}.next`, `postgres://app:${password}@${encodeURIComponent(host!)}:${port}/svc\n`);
  await rename(`${file()}.next`, file());
}

function request(method: string, path: string, body?: object): Promise<Response> {
  return fetch(`${served.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${served.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

interface Outcome {
  /** Whose creation was acknowledged. */
  names: string[];
  /** The statuses of requests that failed. */
  failed: number[];
}

let next = 0;

/** Creates and lists namespaces, six at a time, while `work` runs. */
async function sendWhile(work: () => Promise<void>): Promise<Outcome> {
  const outcome: Outcome = { names: [], failed: [] };
  const stopping = new AbortController();
  const send = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      next += 1;
      const name = `team-${next}`;
      const created = await request('POST', namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      if (created.status === 201) outcome.names.push(name);
      else outcome.failed.push(created.status);
      await created.arrayBuffer();
      const read = await request('GET', `${namespaces}?labelSelector=a`);
      if (read.status !== 200) outcome.failed.push(read.status);
      await read.arrayBuffer();
    }
  };
  const senders = Array.from({ length: 6 }, send);
  try {
    await work();
  } finally {
    stopping.abort();
    await Promise.all(senders);
  }
  return outcome;
}

async function storedNames(): Promise<Set<string>> {
  const { items } = (await (await request('GET', namespaces)).json()) as { items: { metadata: { name: string } }[] };
  return new Set(items.map(({ metadata }) => metadata.name));
}

/** Waits until the server has logged this so many times. The server makes new connections every few seconds. */
async function waitForLine(message: string, times: number): Promise<void> {
  await served.program.until(
    () => served.program.lines().filter(({ msg }) => msg === message).length >= times || undefined,
  );
}

test('the file first, then the role: every request succeeds, and every write stays', async () => {
  const { names, failed } = await sendWhile(async () => {
    await writeUrl('second');
    await waitForLine(refused, 1);
    await owner.query("ALTER ROLE app PASSWORD 'second'");
    await waitForLine(accepted, 1);
  });
  expect(failed).toEqual([]);
  expect(names.length).toBeGreaterThan(0);
  expect([...(await storedNames())]).toEqual(expect.arrayContaining(names));
});

test('the role first: what needs a new connection is 503 until the file follows, and every write stays', async () => {
  const { names, failed } = await sendWhile(async () => {
    await owner.query("ALTER ROLE app PASSWORD 'third'");
    await pollUntil(async () => {
      const text = await (await request('GET', '/metrics')).text();
      return /svc_database_failures_total\{[^}]*connection_refused[^}]*\} [1-9]/.test(text);
    });
    await writeUrl('third');
    await waitForLine(accepted, 2);
  });
  expect(failed.filter((status) => status !== 503)).toEqual([]);
  expect([...(await storedNames())]).toEqual(expect.arrayContaining(names));
});
