import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { postgresAccount } from '#pkg/database/embedded/account';
import type { Account } from '#pkg/database/embedded/run-program';
import { installedPostgres } from '../harness/process/installed-postgres.ts';

const run = promisify(execFile);

/** Debian's PostgreSQL with its tools, in a separate folder; settings that are not given have PostgreSQL's defaults. */
export class DebianPostgres {
  readonly folder: string;
  readonly #bin: string;
  readonly #account: Account | undefined;

  /** Creates a cluster in `folder`, which must not exist, and starts it; its socket is in the same folder. */
  static async start(folder: string, settings: Readonly<Record<string, string>> = {}): Promise<DebianPostgres> {
    const bin = await installedPostgres();
    const account = await postgresAccount();
    await mkdir(folder, { mode: 0o755 });
    if (account !== undefined) await chown(folder, account.uid, account.gid);
    await chmod(folder, 0o755);
    const postgres = new DebianPostgres(folder, bin, account);
    await postgres.tool(
      'initdb',
      '-D',
      postgres.pgdata,
      '-A',
      'trust',
      '-U',
      'postgres',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
    );
    const options = Object.entries({ listen_addresses: '', unix_socket_directories: folder, ...settings }).map(
      ([name, value]) => `-c ${name}='${value}'`,
    );
    await postgres.tool(
      'pg_ctl',
      'start',
      '-w',
      '-D',
      postgres.pgdata,
      '-l',
      join(folder, 'log'),
      '-o',
      options.join(' '),
    );
    return postgres;
  }

  private constructor(folder: string, bin: string, account: Account | undefined) {
    this.folder = folder;
    this.#bin = bin;
    this.#account = account;
  }

  get pgdata(): string {
    return join(this.folder, 'pgdata');
  }

  /** For `svc.database.url`. */
  url(database = 'postgres'): string {
    return `postgres://postgres@/${database}?host=${this.folder}`;
  }

  /** Runs one of its programs as its user, and returns the output. */
  async tool(name: string, ...args: string[]): Promise<string> {
    const { stdout } = await run(join(this.#bin, name), args, {
      ...this.#account,
      cwd: '/',
      // pg_ctl gives up after a minute, which a busy machine may need. Seconds.
      env: { ...process.env, PGCTLTIMEOUT: '500' },
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  }

  async sql(text: string, database = 'postgres'): Promise<string> {
    return this.tool(
      'psql',
      '-h',
      this.folder,
      '-U',
      'postgres',
      '-d',
      database,
      '-v',
      'ON_ERROR_STOP=1',
      '-qAtc',
      text,
    );
  }

  async stop(): Promise<void> {
    await this.tool('pg_ctl', 'stop', '-w', '-m', 'fast', '-D', this.pgdata);
    await rm(this.folder, { recursive: true, force: true });
  }
}
