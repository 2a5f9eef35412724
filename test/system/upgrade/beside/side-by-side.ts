import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PostgresProcess, unsafeSettings } from '../../harness/process/postgres-process.ts';
import { newPersonalToken } from '#pkg/identity/index';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import type { ServiceClient, ApiObject } from '../service-client.ts';
import { book, booksDefinition, booksPath, definitionsPath, namespacesPath } from '../fixtures/definitions.ts';
import { agree, controllersWork, leader } from './agreement.ts';
import { Clients } from './clients.ts';
import { Version, type Shared } from './version.ts';

const serveTimeoutMs = 60_000;
const handoverTimeoutMs = 60_000;

export interface SideBySideOptions {
  /** Builds. */
  readonly old: string;
  readonly next: string;
  /** How long both versions serve. Milliseconds. */
  readonly loadMs: number;
  readonly folder: string;
}

/**
 * One version serves; the next one joins and migrates the database; both serve; the old one restarts once, and stops:
 * always with clients on both. Returns the violated promises and the number of requests.
 */
export async function sideBySide({
  old,
  next,
  loadMs,
  folder,
}: SideBySideOptions): Promise<{ problems: string[]; facts: string }> {
  // Nothing must survive the run.
  const postgres = await PostgresProcess.start({
    folder: join(folder, 'postgres'),
    settings: { ...unsafeSettings, max_connections: '300' },
  });
  try {
    const shared: Shared = {
      databaseUrl: postgres.url(),
      token: newPersonalToken(),
      password: `three wet boots ${randomBytes(6).toString('hex')}`,
      key: randomBytes(32).toString('hex'),
      folder,
    };
    return await rollOut(new Version('old', old, shared), new Version('new', next, shared), {
      password: shared.password,
      loadMs,
    });
  } finally {
    await postgres.stop({ keep: true });
  }
}

async function rollOut(
  old: Version,
  next: Version,
  { password, loadMs }: { password: string; loadMs: number },
): Promise<{ problems: string[]; facts: string }> {
  const problems: string[] = [];
  await old.start();
  const position = await prepare(old.api);
  const clients = new Clients(old.api, position);
  try {
    await next.start();
    clients.follow(next.api);
    clients.ask(old.api, next.api);
    problems.push(
      ...(await agree(old, next, { password, mark: 'forth' })),
      ...(await agree(next, old, { password, mark: 'back' })),
    );
    await delay(loadMs);

    // After the loss of a node or a rollback the old version starts on the new version's database.
    await clients.leaveFor(next.api);
    problems.push(...(await old.stop()), ...(await handedOver(next.api, 'new')));
    await old.start();
    clients.follow(old.api);
    clients.ask(old.api, next.api);
    await delay(loadMs);

    await clients.leaveFor(next.api);
    problems.push(...(await old.stop()));
    await delay(loadMs / 4);
    problems.push(...(await clients.findings(next.api)), ...(await next.stop()));
  } catch (error) {
    problems.push(...clients.problems, String(error));
  } finally {
    await clients.end();
  }
  return { problems, facts: clients.facts };
}

/** Returns the start revision of all watches. */
async function prepare(api: ServiceClient): Promise<string> {
  await api.post(namespacesPath, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'library' } });
  await api.post(definitionsPath, booksDefinition);
  await retryUntilTrue(async () => (await api.send('GET', booksPath)).status === 200, {
    what: 'the model is served',
    timeoutMs: serveTimeoutMs,
  });
  const counter = book('counter', 0);
  const made = (await api.post(booksPath, { ...counter, spec: { isbn: 'counter', year: 0 } })) as unknown as ApiObject;
  await controllersWork(api, 'before');
  return made.metadata.resourceVersion;
}

/** The controllers of the remaining version lead and work. */
async function handedOver(api: ServiceClient, mark: string): Promise<string[]> {
  try {
    await retryUntilTrue(async () => (await leader(api)) !== '', {
      what: 'somebody leads the controllers',
      timeoutMs: handoverTimeoutMs,
    });
    await controllersWork(api, mark);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}
