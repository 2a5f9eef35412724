import pg from 'pg';

/** What is stored, as texts to compare. */
export interface State {
  /**
   * Of the models every run begins with: their objects, the end of their log, remembered keys. Nobody writes there but
   * clients.
   */
  own: string;
  /** Of definitions and what hangs on them, which the server goes on with of its own accord. */
  others: string;
}

/** Looks once; may reject with 42P01 where a table went in between. */
export type StateReader = (client: pg.Client) => Promise<State>;

/** Reads the state from the database, past the server. */
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
        // A model was dropped between the two looks.
        if (!(error instanceof pg.DatabaseError) || error.code !== '42P01') throw error;
      }
    }
  }

  /** Waits until what goes on in the background has come to rest. Rejects where it does not within a minute. */
  async settled(): Promise<State> {
    const deadline = Date.now() + 60_000;
    let before = await this.take();
    for (;;) {
      await new Promise((resolve) => {
        setTimeout(resolve, 60);
      });
      const after = await this.take();
      if (after.own === before.own && after.others === before.others) return after;
      if (Date.now() > deadline) throw new Error('the database does not come to rest');
      before = after;
    }
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}
