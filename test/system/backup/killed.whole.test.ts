import { readFile, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Database, silentLog } from '#pkg/database/index';
import { databaseUrlOf, killPrograms, Program } from '../../../cmd/svc/start-test-program.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { fillModels } from './fill-models.ts';

const objects = 40_000;
/** In total far more than a process's memory limit. */
const bytes = 12_000;
const memoryLimit = 320e6;

const homes: TestDatabase[] = [];
let full: Database;
let target: Database;
let folder: string;
let file: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-killed-'));
  file = join(folder, 'svc.backup');
  for (let i = 0; i < 2; i += 1) homes.push(await createTestDatabase());
  await fillModels(databaseUrlOf(homes[0]!), { objects, bytes, models: 2 });
  [full, target] = (await Promise.all(
    homes.map(({ connection }) => Database.connect({ connection, log: silentLog, applicationName: 'test' })),
  )) as [Database, Database];
});
afterEach(killPrograms);
afterAll(async () => {
  await full.close();
  await target.close();
  for (const home of homes) await home.drop();
  await rm(folder, { recursive: true, force: true });
});

function backup(...args: string[]): Program {
  return new Program(['backup', `--svc.database.url=${databaseUrlOf(homes[0]!)}`, ...args]);
}

function restore(...args: string[]): Program {
  return new Program(['restore', `--svc.database.url=${databaseUrlOf(homes[1]!)}`, `--from=${file}`, ...args]);
}

/** Waits until the program's connection runs a matching statement. */
async function running({ pool }: Database, statement: RegExp, program: Program): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ query: string }>(
      "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'svc %' AND state = 'active'",
    );
    if (rows.some(({ query }) => statement.test(query))) return;
    if (program.child.exitCode !== null) throw new Error(`ended before: ${program.stderr}`);
  }
}

async function disconnected({ pool }: Database): Promise<void> {
  for (;;)
    if (
      (
        await pool.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'svc %'",
        )
      ).rowCount === 0
    )
      return;
}

async function kill(program: Program, signal: NodeJS.Signals): Promise<number | null> {
  program.child.kill(signal);
  return program.exited;
}

async function stateOf({ pool }: Database): Promise<unknown[]> {
  const { rows } = await pool.query(
    "SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname IN ('platform', 'access') ORDER BY 1, 2",
  );
  if (rows.length === 0) return [];
  return [
    ...rows,
    ...(await pool.query('SELECT * FROM platform.meta')).rows,
    ...(await pool.query('SELECT count(*) FROM platform.m_1')).rows,
  ];
}

async function peakMemory(program: Program): Promise<number> {
  let peak = 0;
  const timer = setInterval(() => {
    void readFile(`/proc/${program.child.pid}/status`, 'utf8').then(
      (text) => (peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(text)?.[1] ?? 0) * 1024)),
      () => undefined,
    );
  }, 20);
  const code = await program.exited;
  clearInterval(timer);
  expect({ code, stderr: code === 0 ? '' : program.stderr }).toEqual({ code: 0, stderr: '' });
  return peak;
}

describe('a backup', () => {
  test('that is killed leaves no file of its name, and the next one is complete', async () => {
    const killed = backup(`--to=${file}`);
    await running(full, /^COPY "platform"\."m_/, killed);
    await kill(killed, 'SIGKILL');
    expect(await readdir(folder)).toEqual(['svc.backup.partial']);
    expect(await backup(`--to=${file}`).exited).toBe(0);
    // The second process cannot know that the first one is dead.
    expect(await readdir(folder)).toEqual(['svc.backup', 'svc.backup.partial']);
    const longAgo = new Date(Date.now() - 3_700_000);
    await utimes(`${file}.partial`, longAgo, longAgo);
    expect(await backup(`--to=${file}`, '--force').exited).toBe(0);
    expect(await readdir(folder)).toEqual(['svc.backup']);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('that is ended by %s leaves nothing', async (signal, code) => {
    const ended = backup(`--to=${join(folder, 'other')}`);
    await running(full, /^COPY "platform"\."m_/, ended);
    expect(await kill(ended, signal)).toBe(code);
    expect(ended.stderr).toContain(`svc: Ended by ${signal}.\n`);
    expect(await readdir(folder)).toEqual(['svc.backup']);
  });

  test('whose reader stops reading can be ended, and one whose reader has ended exits', async () => {
    const open = (): ReturnType<typeof spawn> => {
      const { child } = backup('--to=-');
      child.stdout!.removeAllListeners('data').pause();
      return child;
    };
    const stalled = open();
    await disconnectedOrStalled(full);
    stalled.kill('SIGTERM');
    expect((await once(stalled, 'exit'))[0]).toBe(143);
    const left = open();
    await disconnectedOrStalled(full);
    left.stdout!.destroy();
    expect((await once(left, 'exit'))[0]).toBe(1);
    await disconnected(full);
  });
});

/** PostgreSQL waits until the client reads. */
async function disconnectedOrStalled({ pool }: Database): Promise<void> {
  for (;;)
    if (
      ((
        await pool.query(
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'svc backup %' AND wait_event = 'ClientWrite'",
        )
      ).rowCount ?? 0) > 0
    )
      return;
}

describe('a restore', () => {
  const points = [/^COPY "platform"\."m_1"/, /^COPY "platform"\."m_2"/, /^CREATE (?:UNIQUE )?INDEX/, /^ANALYZE/];
  test.each(points)('into an empty database, killed at %s, leaves it empty', async (statement) => {
    const killed = restore();
    await running(target, statement, killed);
    await kill(killed, 'SIGKILL');
    await disconnected(target);
    expect(await stateOf(target)).toEqual([]);
  });

  test('that is not killed is complete, and both stay within their memory limit', async () => {
    expect(await peakMemory(backup(`--to=${file}`, '--force'))).toBeLessThan(memoryLimit);
    expect(await peakMemory(restore())).toBeLessThan(memoryLimit);
    const count = 'SELECT (SELECT count(*) FROM platform.m_1) + (SELECT count(*) FROM platform.m_2) AS n';
    expect((await target.pool.query(count)).rows).toEqual([{ n: String(objects) }]);
  });

  test.each(points)('that replaces, killed at %s, leaves the previous database', async (statement) => {
    const before = await stateOf(target);
    const killed = restore('--replace');
    await running(target, statement, killed);
    await kill(killed, 'SIGKILL');
    await disconnected(target);
    expect(await stateOf(target)).toEqual(before);
  });

  test('that is ended by SIGTERM leaves the previous database', async () => {
    const before = await stateOf(target);
    const ended = restore('--replace');
    await running(target, /^COPY "platform"\."m_/, ended);
    expect(await kill(ended, 'SIGTERM')).toBe(143);
    await disconnected(target);
    expect(await stateOf(target)).toEqual(before);
  });
});
