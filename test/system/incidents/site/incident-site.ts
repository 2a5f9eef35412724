import { writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newPersonalToken } from '#pkg/identity/index';
import pg from 'pg';
import { FaultProxy } from '../../harness/process/fault-proxy.ts';
import { PostgresProcess } from '../../harness/process/postgres-process.ts';
import { SmallDisk } from '../../harness/process/small-disk.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { newIdentity, type UserIdentity } from '../../harness/client/user-identity.ts';
import { runProgram } from '../../harness/process/server-process.ts';
import { Member, type MemberOptions } from './member.ts';
import { PrometheusProcess } from './prometheus-process.ts';
import { Traffic } from './traffic.ts';

const database = 'svc';
/** The servers' user: not a superuser, as in production. */
export const role = 'app';
const prefix = 'svc-incident-';

export interface SiteOptions {
  /** The parent of its folder. */
  readonly parent: string;
  /** How much faster time passes for Prometheus. */
  readonly speed: number;
  /** Of PostgreSQL. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A disk of this size, in mount's form, which holds the tables, or `auditFile` alone. */
  readonly smallDisk?: { readonly size: string; readonly holds: 'tables' | 'audit' };
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

export interface SiteRequest {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** One installation: PostgreSQL, processes of svc, clients, and the Prometheus that watches them. */
export class IncidentSite {
  static readonly #open = new Set<IncidentSite>();
  readonly folder: string;
  readonly speed: number;
  readonly postgres: PostgresProcess;
  readonly prometheus: PrometheusProcess;
  /** Between the servers and PostgreSQL. */
  readonly proxy: FaultProxy;
  /** Undefined if none was asked for. */
  readonly disk: SmallDisk | undefined;
  /** The administrator's. */
  readonly token: string;
  readonly members: Member[] = [];
  /** Why repeated work ended by itself. */
  failure: unknown;
  readonly #scrapeToken: string;
  readonly #removals: (() => Promise<unknown> | void)[];

  static async start({ parent, speed, settings = {}, smallDisk }: SiteOptions): Promise<IncidentSite> {
    const folder = await mkdtemp(join(parent, prefix));
    // PostgreSQL runs as another user.
    await chmod(folder, 0o755);
    const removals: (() => Promise<unknown> | void)[] = [
      () => rm(folder, { recursive: true, force: true, maxRetries: 10 }),
    ];
    try {
      const postgres = await PostgresProcess.start({
        folder: join(folder, 'postgres'),
        settings: { max_connections: '120', ...settings },
      });
      removals.push(() => postgres.stop());
      const disk = smallDisk === undefined ? undefined : await SmallDisk.mount(join(folder, 'disk'), smallDisk.size);
      // After PostgreSQL has ended, and before the folder is removed.
      if (disk !== undefined) removals.splice(1, 0, () => disk.unmount());
      await postgres.query(`CREATE ROLE ${role} LOGIN`);
      const tablesDisk = smallDisk?.holds === 'tables' ? disk : undefined;
      if (tablesDisk !== undefined)
        await postgres.query(
          `CREATE TABLESPACE small LOCATION '${await tablesDisk.tablespaceFolder(postgres.dataFolder)}'`,
        );
      await postgres.query(
        `CREATE DATABASE ${database} OWNER ${role} TEMPLATE template0${tablesDisk === undefined ? '' : ' TABLESPACE small'}`,
      );
      const proxy = await FaultProxy.start(postgres.socketPath);
      removals.push(() => proxy.stop());
      const scrapeToken = newPersonalToken();
      const prometheus = await PrometheusProcess.start({
        folder: join(folder, 'prometheus'),
        token: scrapeToken,
        speed,
      });
      removals.push(() => prometheus.stop());
      return new IncidentSite({ folder, speed, postgres, disk, proxy, prometheus, scrapeToken, removals });
    } catch (error) {
      await removeAllOf(removals);
      throw error;
    }
  }

  /** Removes the sites that an interrupted run has left. */
  static async removeAll(): Promise<void> {
    for (const site of IncidentSite.#open) await site.remove();
  }

  private constructor(
    parts: Pick<IncidentSite, 'folder' | 'speed' | 'postgres' | 'disk' | 'proxy' | 'prometheus'> & {
      scrapeToken: string;
      removals: (() => Promise<unknown> | void)[];
    },
  ) {
    this.folder = parts.folder;
    this.speed = parts.speed;
    this.postgres = parts.postgres;
    this.disk = parts.disk;
    this.proxy = parts.proxy;
    this.prometheus = parts.prometheus;
    this.token = newPersonalToken();
    this.#scrapeToken = parts.scrapeToken;
    this.#removals = parts.removals;
    IncidentSite.#open.add(this);
  }

  /** Of a database, by default the servers'. */
  databaseUrl(name = database): string {
    return `postgres://${role}@127.0.0.1:${this.proxy.port}/${name}`;
  }

  get dataDir(): string {
    return join(this.folder, 'data');
  }

  /** On the small disk. */
  get auditFile(): string {
    return join(this.folder, 'disk', 'audit.log');
  }

  /** The first process. */
  get server(): Member {
    const [member] = this.members;
    if (member === undefined) throw new Error('the site has no process');
    return member;
  }

  /** Creates a process that is scraped; `start` or `launch` starts it. */
  async add(
    command: MemberOptions['command'],
    options: Partial<Pick<MemberOptions, 'name' | 'args' | 'build' | 'nodeArgs'>> = {},
  ): Promise<Member> {
    await mkdir(this.dataDir, { recursive: true });
    const member = await Member.create({
      name: `${command}-${this.members.length}`,
      command,
      folder: this.folder,
      probeIntervalMs: Math.max(200, 10_000 / this.speed),
      ...options,
      args: [...this.argsOf(command), ...(options.args ?? [])],
    });
    this.members.push(member);
    this.#removals.push(() => member.remove());
    return member;
  }

  /** Prometheus scrapes these processes, by default all. */
  async scrape(members: readonly Member[] = this.members): Promise<void> {
    await this.prometheus.scrape(members.flatMap(({ targets }) => targets));
  }

  /** Clients that read and write single objects, until the site is removed. */
  async addTraffic(member = this.server): Promise<Traffic> {
    const traffic = await Traffic.start(member.url, this.token);
    this.#removals.push(() => traffic.stop());
    return traffic;
  }

  /** Called when the site is removed. */
  onRemove(remove: () => Promise<unknown> | void): void {
    this.#removals.push(remove);
  }

  /** As the administrator. */
  async request(path: string, init: SiteRequest = {}, base = this.server.url): Promise<Answer> {
    const answer = await fetch(base + path, {
      ...init,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.token}`, ...init.headers },
    });
    return { status: answer.status, text: await answer.text() };
  }

  /** Throws unless it is a success. */
  async demand(path: string, init: SiteRequest = {}, base = this.server.url): Promise<string> {
    const { status, text } = await this.request(path, init, base);
    if (status >= 300) throw new Error(`${init.method ?? 'GET'} ${path}: ${status} ${text.slice(0, 500)}`);
    return text;
  }

  create(path: string, object: object, base = this.server.url): Promise<string> {
    return this.demand(path, { method: 'POST', body: JSON.stringify(object) }, base);
  }

  /** The first administrator's password. */
  async adminPassword(): Promise<string> {
    return (await readFile(join(this.dataDir, 'initial-admin-password'), 'utf8')).trim();
  }

  /** A new user without roles, on the first process. */
  identity(username: string): Promise<UserIdentity> {
    const { port, accessPort } = this.server;
    const args = ['create', `--user=${username}`, ...this.argsOf('serve')];
    return newIdentity(
      {
        port,
        accessPort: accessPort!,
        adminPassword: () => this.adminPassword(),
        createPrivateToken: () => runProgram({ command: 'private-token', args, folder: this.folder }),
      },
      username,
    );
  }

  /** The answer of `/readyz?verbose`, which the runbook sends one to. */
  async readyz(member = this.server): Promise<string> {
    return (await fetch(`${member.url}/readyz?verbose`)).text();
  }

  /** A session in the servers' database, by default of an administrator of it; the site ends it. */
  async session({ name = database, user }: { name?: string; user?: string } = {}): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.postgres.connection,
      database: name,
      ...(user === undefined ? {} : { user }),
    });
    client.on('error', () => {});
    await client.connect();
    this.#removals.push(() => client.end().catch(() => undefined));
    return client;
  }

  /** Runs a statement in the servers' database, as an administrator of the database. */
  async sql<Row extends pg.QueryResultRow = Record<string, unknown>>(text: string): Promise<Row[]> {
    const client = new pg.Client({ ...this.postgres.connection, database });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** The table of the objects that the clients write. */
  async tableOfNotes(): Promise<string> {
    const [model] = await this.sql<{ id: number }>(
      "SELECT id FROM platform.models WHERE api_group = 'incidents.example.com'",
    );
    return `platform.m_${model!.id}`;
  }

  /** Ends the servers' sessions, so that the next ones have new settings. */
  async endSessions(): Promise<void> {
    await this.postgres.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
  }

  /** All that the processes have written. */
  logs(): string {
    return this.members.map(({ process }) => process.log()).join('\n');
  }

  /** Resolves when a log line has this text as its message; `...` stands for what varies. */
  async untilLogged(message: string): Promise<void> {
    const pattern = new RegExp(
      message
        .split('...')
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
        .join('.*'),
    );
    await retryUntilTrue(() => pattern.test(this.logs()), { what: `the log says ${message}`, timeoutMs: 90_000 });
  }

  /** Resolves when a log line has fields as `has` wants them; `what` names them. */
  async untilLogLine(has: (line: Record<string, unknown>) => boolean, what: string): Promise<void> {
    await retryUntilTrue(
      () =>
        this.logs()
          .split('\n')
          .some(
            (line) => line.startsWith('{') && line.endsWith('}') && has(JSON.parse(line) as Record<string, unknown>),
          ),
      { what: `the log has a line with ${what}`, timeoutMs: 30_000 },
    );
  }

  /** Resolves when an expression has a value above `bound`. */
  async untilMetric(expression: string, bound = 0): Promise<void> {
    await retryUntilTrue(async () => ((await this.prometheus.value(expression)) ?? -Infinity) > bound, {
      what: `${expression} is above ${bound}`,
      timeoutMs: 60_000,
    });
  }

  /** Ends all; `keep` keeps the logs. */
  async remove({ keep = false }: { keep?: boolean } = {}): Promise<void> {
    IncidentSite.#open.delete(this);
    if (keep) this.#keepLogs();
    await removeAllOf(this.#removals.splice(0));
  }

  #keepLogs(): void {
    for (const { name, process } of this.members) writeFileSync(`${this.folder}-${name}.log`, process.log());
  }

  /** The options that every process of this command has. */
  argsOf(command: MemberOptions['command']): string[] {
    const common = [`--svc.data.dir=${this.dataDir}`, `--svc.metrics.token=${this.#scrapeToken}`];
    return command === 'controller-manager'
      ? [...common, `--svc.controllers.api-url=${this.server.url}`]
      : [...common, `--svc.database.url=${this.databaseUrl()}`, `--svc.security.initial-admin-token=${this.token}`];
  }
}

/** The last one first, all of them; throws the first failure. */
async function removeAllOf(removals: readonly (() => Promise<unknown> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const remove of removals.toReversed()) {
    try {
      await remove();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
