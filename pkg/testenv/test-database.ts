import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  /** Fits `Database.connect({ connection, log })` and `new pg.Pool(connection)`. */
  readonly connection: pg.ClientConfig;
  readonly name: string;
  /** Drops the database and disconnects its clients. */
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Name of a database to copy, which must have no connections; empty by default. */
  readonly template?: string;
  /** The PostgreSQL server for it. Default: that of the test run. */
  readonly server?: pg.ClientConfig;
}

/** Makes a database of its own for a test file, on the server of the test run (`hack/jest/global-setup.mts`). */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const server = options.server ?? serverConnection();
  const template = pg.escapeIdentifier(options.template ?? 'template0');
  // Files are copied in a quarter of the time that pages take on their way through the WAL.
  await asAdministrator(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  return {
    name,
    connection: connectionTo(server, name),
    drop: () => asAdministrator(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/**
 * Name of a database that `prepare` filled once for all test files of a run, because a copy takes half the time.
 * Undefined outside of `npm test`, and on a server that outlives the run.
 */
export async function templateDatabase(
  name: string,
  prepare: (connection: pg.ClientConfig) => Promise<void>,
): Promise<string | undefined> {
  const run = process.env['SVC_TEST_RUN'];
  if (run === undefined) return undefined;
  const server = serverConnection();
  const template = `template_${name}_${run}`;
  await withAdministrator(server, async (client) => {
    // The first caller creates it, the others wait.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [template]);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [template]);
    if (rowCount !== 0) return;
    const unready = `${template}_unready`;
    await client.query(`DROP DATABASE IF EXISTS ${unready}`);
    await client.query(`CREATE DATABASE ${unready} TEMPLATE template0`);
    await prepare(connectionTo(server, unready));
    await client.query(`ALTER DATABASE ${unready} RENAME TO ${template}`);
  });
  return template;
}

async function asAdministrator(server: pg.ClientConfig, statement: string): Promise<void> {
  await withAdministrator(server, (client) => client.query(statement));
}

/** Runs `work` on a session outside of the test databases. */
export async function withAdministrator(
  server: pg.ClientConfig,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function connectionTo(server: pg.ClientConfig, name: string): pg.ClientConfig {
  if (server.connectionString === undefined) return { ...server, database: name };
  const url = new URL(server.connectionString);
  url.pathname = `/${name}`;
  return { ...server, connectionString: url.href };
}

/** The PostgreSQL server of the test run. */
export function serverConnection(): pg.ClientConfig {
  const connection = process.env['SVC_TEST_DATABASE'];
  if (connection === undefined)
    throw new Error('No test database: run the tests with npm test, or pass the connection of a PostgreSQL.');
  return JSON.parse(connection) as pg.ClientConfig;
}
