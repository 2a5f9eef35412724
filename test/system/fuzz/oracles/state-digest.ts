import pg from 'pg';

/** The stored state, as texts to compare. */
export interface State {
  /** The models of every run: their objects, the end of their log, idempotency keys. Only clients write there. */
  own: string;
  /** Definitions and dependent objects, which the server changes by itself. */
  others: string;
}

/** Reads once; may reject with 42P01 if a table was dropped meanwhile. */
export type StateReader = (client: pg.Client) => Promise<State>;

/** Reads the state from the database, not through the server. */
export class StateDigest {
  readonly #client: pg.Client;
  readonly #read: StateReader;

  private constructor(client: pg.Client, read: StateReader) {
    this.#client = client;
    this.#read = read;
    client.on('error', () => undefined);
  }

  static async open(connection: pg.ClientConfig, read: StateReader): Promise<StateDigest> {
    const client = new pg.Client(connection);
    await client.connect();
    return new StateDigest(client, read);
  }

  async take(): Promise<State> {
    for (;;) {
      try {
        return await this.#read(this.#client);
      } catch (error) {
        // A model was dropped between the two reads.
        if (!(error instanceof pg.DatabaseError) || error.code !== '42P01') throw error;
      }
    }
  }

  /** Waits until background work has finished. Rejects after a minute. */
  async settled(): Promise<State> {
    const deadline = Date.now() + 60_000;
    let before = await this.take();
    for (;;) {
      await new Promise((resolve) => {
        setTimeout(resolve, 60);
      });
      const after = await this.take();
      if (after.own === before.own && after.others === before.others) return after;
      if (Date.now() > deadline) throw new Error('the database does not become idle');
      before = after;
    }
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}
