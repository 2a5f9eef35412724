import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';
import { CuttingProxy } from './cutting-proxy.ts';

const run = promisify(execFile);

interface Reached {
  proxy: CuttingProxy;
  connection: pg.ClientConfig;
}

/**
 * A primary and a standby that streams from it, both servers of the test's own. Clients reach each through a proxy, as by
 * its name.
 */
export class StreamingStandby {
  readonly primary: pg.ClientConfig;
  readonly standby: pg.ClientConfig;
  readonly #folder: string;
  readonly #servers: { readonly primary: EmbeddedPostgres; readonly standby: EmbeddedPostgres };
  #toPrimary: CuttingProxy;
  #toStandby: CuttingProxy;

  static async start(): Promise<StreamingStandby> {
    // PostgreSQL's user could not read a temporary folder of root.
    const folder = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-standby-'));
    await chmod(folder, 0o711);
    const dataDir = join(folder, 'primary');
    await (await startIn(dataDir)).stop();
    const copy = join(folder, 'standby');
    await run('cp', ['-a', dataDir, copy]);
    const names = await readdir(copy);
    const pgdata = names.find((name) => name.startsWith('pgdata-'))!;
    await writeFile(join(copy, pgdata, 'standby.signal'), '');
    const primary = await startIn(dataDir);
    const standby = await startIn(copy, primary.connection);
    return new StreamingStandby(
      folder,
      { primary, standby },
      { primary: await CuttingProxy.start(primary.connection), standby: await CuttingProxy.start(standby.connection) },
    );
  }

  private constructor(
    folder: string,
    servers: { primary: EmbeddedPostgres; standby: EmbeddedPostgres },
    reached: { primary: Reached; standby: Reached },
  ) {
    this.#folder = folder;
    this.#servers = servers;
    this.#toPrimary = reached.primary.proxy;
    this.#toStandby = reached.standby.proxy;
    this.primary = reached.primary.connection;
    this.standby = reached.standby.connection;
  }

  /** Nobody reaches the standby while `work` runs. */
  async withoutStandby(work: () => Promise<void>): Promise<void> {
    await this.#toStandby.stop();
    try {
      await work();
    } finally {
      this.#toStandby = (await CuttingProxy.start(this.#servers.standby.connection, this.standby.port)).proxy;
    }
  }

  /** The primary is gone, and its name leads to the server that was the standby, which the test has promoted. */
  async losePrimary(): Promise<void> {
    await this.#toPrimary.stop();
    await this.#servers.primary.stop();
    this.#toPrimary = (await CuttingProxy.start(this.#servers.standby.connection, this.primary.port)).proxy;
  }

  /** Also deletes all data. */
  async stop(): Promise<void> {
    await Promise.all([this.#toPrimary.stop(), this.#toStandby.stop()]);
    await this.#servers.standby.stop();
    await this.#servers.primary.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function startIn(dataDir: string, follows?: pg.ClientConfig): Promise<EmbeddedPostgres> {
  return EmbeddedPostgres.start({
    dataDir,
    log: silentLog,
    settings: {
      fsync: 'off',
      max_connections: '200',
      ...(follows === undefined
        ? {}
        : { primary_conninfo: `host=${follows.host} port=${follows.port} user=${follows.user}` }),
    },
  });
}
