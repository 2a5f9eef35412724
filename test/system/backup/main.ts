/**
 * `make backup`: the time and memory of a backup and a restore of many objects, compared with PostgreSQL's own tools,
 * on Debian's PostgreSQL. `--objects=1000000` objects of about `--bytes=1000`, in `--models=4` models with three
 * indexes each. Needs `npm run build` first.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, stat, readFile, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DebianPostgres } from './debian-postgres.ts';
import { fillModels } from './fill-models.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '1000000' },
    bytes: { type: 'string', default: '1000' },
    models: { type: 'string', default: '4' },
  },
});
const objects = Number(values.objects);
const folder = await mkdtemp(join(defaultDataParent, 'svc-backup-'));
await chmod(folder, 0o755);
const postgres = await DebianPostgres.start(join(folder, 'postgres'), { shared_buffers: '1GB', max_wal_size: '8GB' });
try {
  await postgres.sql('CREATE DATABASE full_one TEMPLATE template0');
  await postgres.sql('CREATE DATABASE restored TEMPLATE template0');
  await postgres.sql('CREATE DATABASE loaded TEMPLATE template0');
  await fillModels(postgres.url('full_one'), { objects, bytes: Number(values.bytes), models: Number(values.models) });
  await postgres.sql('VACUUM ANALYZE', 'full_one');
  await postgres.sql('CHECKPOINT');
  const tables = Number(
    await postgres.sql(
      "SELECT sum(pg_table_size(c.oid)) FROM pg_class c WHERE relnamespace = 'platform'::regnamespace AND relkind = 'r'",
      'full_one',
    ),
  );
  print('tables', { bytes: tables });
  const file = join(folder, 'svc.backup');
  const written = await svc('backup', 'full_one', '--to', file);
  const { size } = await stat(file);
  print('svc backup', { ...written, bytes: size });
  print('svc restore', { ...(await svc('restore', 'restored', '--from', file)), bytes: size });
  const dump = join(folder, 'postgres', 'dump');
  const dumped = await timed(() =>
    postgres.tool('pg_dump', '-h', postgres.folder, '-U', 'postgres', '-Fc', '-f', dump, 'full_one'),
  );
  print('pg_dump -Fc', { ...dumped, bytes: (await stat(dump)).size });
  print('pg_restore', {
    ...(await timed(() =>
      postgres.tool(
        'pg_restore',
        '-h',
        postgres.folder,
        '-U',
        'postgres',
        '-d',
        'loaded',
        '--single-transaction',
        dump,
      ),
    )),
    bytes: (await stat(dump)).size,
  });
} finally {
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

interface Measure {
  seconds: number;
  /** Peak memory of the process. Bytes. */
  peak?: number;
}

function print(what: string, { seconds, peak, bytes }: Partial<Measure> & { bytes: number }): void {
  const parts = [what.padEnd(12), `${(bytes / 1e6).toFixed(0)} MB`];
  if (seconds !== undefined) parts.push(`${seconds.toFixed(1)} s`, `${Math.round(objects / seconds)} objects/s`);
  if (peak !== undefined) parts.push(`${(peak / 1e6).toFixed(0)} MB of memory`);
  process.stdout.write(`${parts.join('  ')}\n`);
}

async function timed(work: () => Promise<unknown>): Promise<Measure> {
  const start = performance.now();
  await work();
  return { seconds: (performance.now() - start) / 1000 };
}

async function svc(command: string, database: string, ...args: string[]): Promise<Measure> {
  let peak = 0;
  const measure = await timed(async () => {
    const child = spawn(
      process.execPath,
      ['dist/cmd/svc/main.js', command, `--svc.database.url=${postgres.url(database)}`, ...args],
      { stdio: 'inherit' },
    );
    const timer = setInterval(
      () =>
        void readFile(`/proc/${child.pid}/status`, 'utf8').then(
          (text) => (peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(text)?.[1] ?? 0) * 1024)),
          () => undefined,
        ),
      50,
    );
    const code = await new Promise((resolve) => child.once('exit', resolve));
    clearInterval(timer);
    if (code !== 0) throw new Error(`svc ${command} ended with ${String(code)}`);
  });
  return { ...measure, peak };
}
