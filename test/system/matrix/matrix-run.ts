import pg from 'pg';
import { SeededRandom } from '../harness/seeded-random.ts';
import { accessCell, type AccessCells } from './cells/access-cells.ts';
import { accessRoutes } from './cells/access-routes.ts';
import type { Cell } from './cells/cell.ts';
import { platformCell, type PlatformCells } from './cells/platform-cells.ts';
import { platformRoutes } from './cells/platform-routes.ts';
import { readDocument } from './cells/served-document.ts';
import { badCredentials, goodCredentials } from './model/credentials.ts';
import { MatrixReport } from './report.ts';
import { runCells } from './run-cells.ts';
import { MatrixClient } from './wire/matrix-client.ts';
import { MatrixServers, type MatrixServersOptions } from './fixtures/matrix-servers.ts';
import { servicePeople } from './fixtures/people.ts';
import { prepareFixtures } from './fixtures/prepare-fixtures.ts';
import { DisposableRecords } from './fixtures/disposable-records.ts';

export interface MatrixRunOptions extends MatrixServersOptions {
  readonly seed: string;
  readonly concurrency: number;
  /** See FixtureOptions. */
  readonly chance: number;
  readonly privateTokens: number;
}

/** Servers with fixtures made from the seed, and all possible cells. */
export class MatrixRun {
  readonly report: MatrixReport;
  /** For the database of the servers. */
  readonly pool: pg.Pool;
  readonly #options: MatrixRunOptions;
  readonly #servers: MatrixServers;
  readonly #client: MatrixClient;
  readonly #access: AccessCells;
  readonly #platform: PlatformCells;
  readonly #tried = new Set<string>();

  /** Rejects if the servers do not start, or refuse the fixtures. */
  static async start(options: MatrixRunOptions): Promise<MatrixRun> {
    const { seed, concurrency, chance, privateTokens, hasPlugin } = options;
    const servers = await MatrixServers.start(options);
    const client = new MatrixClient(servers.origins, concurrency);
    const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 4 });
    try {
      const fixtures = await prepareFixtures({
        servers,
        client,
        pool,
        random: new SeededRandom(`${seed} fixtures`),
        chance,
        privateTokens,
        hasPlugin,
      });
      const routes = accessRoutes(fixtures.facts);
      const { inOrganization, problems } = readDocument(
        await (await fetch(`${servers.origins.access}/api/openapi.json`)).json(),
        routes,
      );
      const run = new MatrixRun({
        options,
        servers,
        client,
        pool,
        access: { ...fixtures, routes, inOrganization },
        platform: { ...fixtures, routes: platformRoutes(fixtures.facts) },
      });
      for (const problem of problems) run.report.problem('the served document', problem);
      return run;
    } catch (error) {
      await close({ servers, client, pool });
      throw error;
    }
  }

  private constructor({
    options,
    servers,
    client,
    pool,
    access,
    platform,
  }: {
    options: MatrixRunOptions;
    servers: MatrixServers;
    client: MatrixClient;
    pool: pg.Pool;
    access: AccessCells;
    platform: PlatformCells;
  }) {
    this.#options = options;
    this.#servers = servers;
    this.#client = client;
    this.pool = pool;
    this.#access = access;
    this.#platform = platform;
    this.report = new MatrixReport(servers.origins);
  }

  /** Sends the cells of these numbers and reports the results. */
  async send(from: number, to: number): Promise<void> {
    const { report } = this;
    await runCells(this.#cells(from, to), {
      client: this.#client,
      report,
      concurrency: this.#options.concurrency,
      throwaways: new DisposableRecords(this.pool, this.#access.facts.orgs.a),
    });
    for (const line of this.#servers.takeErrors()) report.problem('a server logged an error', line);
  }

  /** Credentials that no cell has tried, and services that had no cell of either result with a good credential. */
  get untried(): string[] {
    const ofServices = Object.values(servicePeople).flatMap(({ username }) =>
      [true, false].map((allowed) => resultOf(username, allowed)),
    );
    return [...[...goodCredentials, ...badCredentials].map(({ name }) => name), ...ofServices].filter(
      (name) => !this.#tried.has(name),
    );
  }

  stop(): Promise<void> {
    return close({ servers: this.#servers, client: this.#client, pool: this.pool });
  }

  *#cells(from: number, to: number): Generator<Cell, undefined> {
    for (let number = from; number < to; number += 1) {
      const random = new SeededRandom(`${this.#options.seed} ${number}`);
      // Even numbers are the access service's, so that both services' routes come in turn.
      const cell =
        number % 2 === 0
          ? accessCell(number / 2, random, this.#access)
          : platformCell((number - 1) / 2, random, this.#platform);
      this.#tried.add(cell.credential);
      if (cell.service !== undefined && goodCredentials.some(({ name }) => name === cell.credential))
        this.#tried.add(resultOf(cell.service, cell.verdict.allowed));
      yield { ...cell, number };
    }
  }
}

const resultOf = (service: string, isAllowed: boolean): string => `${service} ${isAllowed ? 'allowed' : 'refused'}`;

async function close({
  servers,
  client,
  pool,
}: {
  servers: MatrixServers;
  client: MatrixClient;
  pool: pg.Pool;
}): Promise<void> {
  client.close();
  await pool.end();
  await servers.stop();
}
