import pg from 'pg';
import { CuttingProxy } from './cutting-proxy.ts';
import { createPlatformDatabase } from './platform-database.ts';
import { createTestDatabase, serverConnection, withAdministrator, type TestDatabase } from './test-database.ts';

/** A copy of the database that hears of nothing more, until it takes over. */
export interface LaggingStandby {
  readonly database: TestDatabase;
}

/**
 * A database with standbys that lag and take over, as asynchronous standbys do: each is a whole copy, so what was written
 * after it is lost in tables and log alike. Its clients reach it through a proxy, as they reach a primary by its name.
 */
export class FailoverDatabase {
  readonly name: string;
  /** Through the proxy, to the present primary. */
  readonly connection: pg.ClientConfig;
  readonly #primary: TestDatabase;
  readonly #port: number;
  readonly #standbys = new Set<TestDatabase>();
  #proxy: CuttingProxy;

  static async create(): Promise<FailoverDatabase> {
    const primary = await createPlatformDatabase();
    const { proxy, connection } = await CuttingProxy.start(primary.connection);
    return new FailoverDatabase(primary, proxy, connection);
  }

  private constructor(primary: TestDatabase, proxy: CuttingProxy, connection: pg.ClientConfig) {
    this.#primary = primary;
    this.#proxy = proxy;
    this.name = primary.name;
    this.connection = connection;
    this.#port = connection.port!;
  }

  /** Makes a standby that has what is committed now. The clients lose their connections, and may connect again after it. */
  async detachStandby(): Promise<LaggingStandby> {
    return this.#whileAway(async () => {
      await withAdministrator(serverConnection(), (client) => endSessions(client, this.name));
      const database = await createTestDatabase({ template: this.name });
      this.#standbys.add(database);
      return { database };
    });
  }

  /** The standby takes the place of the primary, which is gone. */
  failOver({ database }: LaggingStandby): Promise<void> {
    this.#standbys.delete(database);
    return this.#whileAway(async () => {
      await this.#primary.drop();
      const client = new pg.Client(database.connection);
      await client.connect();
      // Without the first mark, the copy would count as a restored database.
      await client.query("UPDATE platform.meta SET incarnation = NULL, timeline = 'the one before'");
      await client.end();
      await withAdministrator(serverConnection(), (admin) =>
        admin.query(`ALTER DATABASE ${database.name} RENAME TO ${this.name}`),
      );
    });
  }

  async drop(): Promise<void> {
    await this.#proxy.stop();
    await Promise.all([this.#primary, ...this.#standbys].map((each) => each.drop()));
  }

  async #whileAway<T>(work: () => Promise<T>): Promise<T> {
    await this.#proxy.stop();
    const result = await work();
    this.#proxy = (await CuttingProxy.start(this.#primary.connection, this.#port)).proxy;
    return result;
  }
}

/** A database with sessions cannot be copied. */
async function endSessions(client: pg.Client, name: string): Promise<void> {
  await client.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1', [name]);
}
