import { defineModel, startServer } from '../../server/bench-server.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, statSync } from 'node:fs';
import { chown, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/system/harness/process/free-port.ts';
import type { ApiServer } from '../../../test/system/harness/process/api-server.ts';
import { modelOfSize, pathOf, postText } from '../../sample-post.ts';
import { number } from '../../../test/system/harness/run/table.ts';
import { load, type CapacityRun } from '../capacity-run.ts';
import { ServerProcess } from '../../../test/system/harness/process/server-process.ts';

const programs = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'];
const startTimeoutMs = 15_000;
/**
 * The server sets these when it connects; PgBouncer does not support them, and refuses such a client unless it is told
 * to ignore them.
 */
const ignored = 'extra_float_digits,statement_timeout,lock_timeout,idle_in_transaction_session_timeout';

/** svc through each usable mode of PgBouncer: whether it starts and works, and what it costs. */
export async function measurePooler(run: CapacityRun): Promise<void> {
  const program = programs.find((file) => existsSync(file));
  if (program === undefined) return run.report.line('\nPgBouncer is not installed: skipped.');
  const rows: string[][] = [['way', 'what came of it', 'GETs/s, 64 at a time', 'creates/s, 64 at a time']];
  const model = modelOfSize(0);
  await defineModel(run.api, model);
  rows.push(['directly', 'works', ...(await rates(run, run.api))]);
  for (const { mode, settings, name } of [
    { name: 'session mode, as it comes', mode: 'session', settings: {} },
    {
      name: 'session mode, ignore_startup_parameters',
      mode: 'session',
      settings: { ignore_startup_parameters: ignored },
    },
    {
      name: 'transaction mode, ignore_startup_parameters',
      mode: 'transaction',
      settings: { ignore_startup_parameters: ignored },
    },
  ]) {
    rows.push([name, ...(await through(run, program, { pool_mode: mode, ...settings }))]);
  }
  const version = await versionOf(program);
  run.report.table(`Through ${version}`, rows);
}

async function versionOf(program: string): Promise<string> {
  const child = spawn(program, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (bytes: Buffer) => (text += bytes.toString()));
  await once(child, 'close');
  return text.split('\n')[0] ?? 'PgBouncer';
}

async function through(run: CapacityRun, program: string, settings: Record<string, string>): Promise<string[]> {
  const port = await freePort();
  const pooler = await startPooler(run, program, port, settings);
  const url = `postgres://svc@127.0.0.1:${port}/postgres`;
  try {
    // The first server logs why it does not start; the others are measured.
    const serverPort = await freePort();
    const folder = await mkdtemp(join(run.database.folder, 'server-'));
    const trial = await ServerProcess.start({
      command: 'apiserver',
      args: [`--svc.data.dir=${folder}`, `--svc.server.port=${serverPort}`, `--svc.database.url=${url}`],
      folder,
      readyUrl: `http://127.0.0.1:${serverPort}/readyz`,
      startTimeoutMs,
    });
    await trial.stop();
    const api = await startServer({ database: run.database, args: [`--svc.database.url=${url}`] });
    try {
      const [gets, creates] = await rates(run, api);
      return [await checkEverything(run, api), gets!, creates!];
    } finally {
      await api.stop();
    }
  } catch (error) {
    return [`fails: ${firstComplaint(error)}`, '', ''];
  } finally {
    pooler.kill('SIGKILL');
  }
}

/** The first warning of a log, or the error itself. */
function firstComplaint(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const said =
    /"(?:message|reason|msg)":"((?:[^"\\]|\\.)*(?:prepared statement|parameter|unsupported|cannot|not be)(?:[^"\\]|\\.)*)"/.exec(
      text,
    )?.[1] ??
    /^error: .*/m.exec(text)?.[0] ??
    /svc: .*/.exec(text)?.[0] ??
    text;
  return said.slice(0, 200).replaceAll('|', ' ').replaceAll('\n', ' ');
}

async function rates(run: CapacityRun, api: ApiServer): Promise<string[]> {
  const model = modelOfSize(0);
  const names = `p${api.port}`;
  const created = await load(run, { api, connections: 64, plan: { type: 'create', model, names } });
  const read = await load(run, { api, connections: 64, plan: { type: 'get', paths: [`${pathOf(model)}/${names}-0`] } });
  return [number(read.requests / read.seconds), number(created.requests / created.seconds)];
}

/**
 * Checks what needs a session's notifications and locks: another replica's change is noticed within the second of
 * polling, a new index, and dropping the model.
 */
async function checkEverything(run: CapacityRun, api: ApiServer): Promise<string> {
  const model = { plural: `through-${api.port}`, kind: `Through${api.port}` };
  await defineModel(api, model);
  await run.api.untilServed(`${pathOf(model)}?limit=1`);
  await run.api.fetch(pathOf(model), {
    method: 'POST',
    body: postText(model, { name: 'one', number: 1, title: 'One' }),
  });
  await api.untilServed(`${pathOf(model)}/one`);
  await api.fetch(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${model.plural}.bench.svc.example`, {
    method: 'DELETE',
  });
  const [row] = await run.database.query(
    "SELECT count(*) AS listening FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'",
  );
  return `works (${String(row!['listening'])} sessions listen)`;
}

async function startPooler(
  { database, report }: CapacityRun,
  program: string,
  port: number,
  settings: Record<string, string>,
): Promise<ChildProcess> {
  const folder = mkdtempSync(join('/tmp', 'svc-pooler-'));
  const { host = '', user = '' } = database.connection;
  // PgBouncer refuses to run as root, and PostgreSQL's socket is in a folder of its own user.
  const { uid, gid } = statSync(host);
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    max_client_conn: '500',
    default_pool_size: '150',
    ...settings,
  };
  const text = `[databases]\npostgres = host=${host} user=${user}\n[pgbouncer]\n${Object.entries(all)
    .map(([name, value]) => `${name} = ${value}`)
    .join('\n')}\n`;
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, text);
  await chown(folder, uid, gid);
  const log = openSync(join(folder, 'log'), 'w');
  const child = spawn(program, [file], { uid, gid, stdio: ['ignore', log, log] });
  for (const deadline = performance.now() + startTimeoutMs; ; await delay(20)) {
    if (await answers(port)) return child;
    if (child.exitCode !== null || performance.now() > deadline) {
      report.line(await readFile(join(folder, 'log'), 'utf8'));
      throw new Error('PgBouncer does not start');
    }
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
