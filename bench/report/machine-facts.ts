import { execFileSync } from 'node:child_process';
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PostgresProcess } from '../../test/system/harness/process/postgres-process.ts';
import type { Report } from './report.ts';
import { quantile } from './sample.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Facts about the machine and the run, needed to interpret the figures. */
export async function reportMachine(report: Report, database: PostgresProcess): Promise<void> {
  const [settings] = await database.query(
    "SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commits, current_setting('full_page_writes') AS pages, current_setting('shared_buffers') AS buffers",
  );
  const { version, fsync, commits, pages, buffers } = settings as Record<string, string>;
  const processors = cpus();
  report.fact('date', new Date().toISOString());
  report.fact('commit', commit());
  report.fact(
    'machine',
    `${processors[0]?.model.trim() ?? 'unknown processor'}, ${processors.length} cores, ${(totalmem() / 2 ** 30).toFixed(0)} GB, Linux ${release()}`,
  );
  report.fact('load', `${loadavg()[0]?.toFixed(2)} before the run; above 0.3 other programs used the machine`);
  report.fact(
    'svc',
    `${installedVersion('../../package.json')}; express ${installedVersion('../../node_modules/express/package.json')}, pg ${installedVersion('../../node_modules/pg/package.json')}`,
  );
  report.fact('node', process.version);
  report.fact(
    'PostgreSQL',
    `${version}, fsync ${fsync}, synchronous_commit ${commits}, full_page_writes ${pages}, shared_buffers ${buffers}`,
  );
  report.fact('disk', `write and fsync of 8 kB in ${dirname(database.folder)}: ${fsyncTimes(database.folder)}`);
}

function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' with uncommitted changes'}`;
  } catch {
    return 'unknown: not a git working tree';
  }
}

function installedVersion(file: string): string {
  return (JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as { version: string }).version;
}

function fsyncTimes(folder: string): string {
  const file = join(folder, `svc-bench-fsync-${process.pid}`);
  const handle = openSync(file, 'w');
  const page = Buffer.alloc(8192, 1);
  try {
    const times = Float64Array.from({ length: 200 }, () => {
      const begin = performance.now();
      writeSync(handle, page);
      fsyncSync(handle);
      return performance.now() - begin;
    }).toSorted();
    return `p50 ${quantile(times, 0.5).toFixed(2)} ms, p99 ${quantile(times, 0.99).toFixed(2)} ms`;
  } finally {
    closeSync(handle);
    rmSync(file);
  }
}
