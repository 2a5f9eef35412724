import pg from 'pg';
import { group } from '../world.ts';

/** What is stored, as texts to compare. */
export interface State {
  /** Of the models every run begins with: their objects, the end of their log, remembered keys. Nobody writes there but clients. */
  own: string;
  /** Of definitions and what hangs on them, which the server goes on with of its own accord. */
  others: string;
}

interface ModelRow {
  id: number;
  api_group: string;
  shape: string;
}

/** Reads the state from the database, past the server. */
export class StateDigest {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on('error', () => undefined);
  }

  static async open(connection: pg.ClientConfig): Promise<StateDigest> {
    const client = new pg.Client(connection);
    await client.connect();
    return new StateDigest(client);
  }

  async take(): Promise<State> {
    for (;;) {
      try {
        return await this.#read();
      } catch (error) {
        // A model was dropped between the two looks.
        if (!(error instanceof pg.DatabaseError) || error.code !== '42P01') throw error;
      }
    }
  }

  async #read(): Promise<State> {
    const { rows: models } = await this.#client.query<ModelRow>('SELECT id, api_group, shape::text || columns::text AS shape FROM platform.models ORDER BY id');
    const isOwn = ({ api_group }: ModelRow): boolean => api_group === group;
    const ids = models.filter(isOwn).map(({ id }) => id).join(', ');
    const facts = `SELECT 0 AS id, (SELECT max(rev) FROM platform.change_log WHERE model IN (${ids}))::text || '/' || (SELECT count(*) FROM platform.idempotency_keys)::text AS digest`;
    const { rows } = await this.#client.query<{ id: number; digest: string }>([facts, ...models.map(contentOf)].join(' UNION ALL '));
    const digestOf = (chosen: readonly ModelRow[]): unknown => chosen.map((model) => [model, rows.find(({ id }) => id === model.id)?.digest]);
    const others = models.filter((model) => !isOwn(model));
    return { own: JSON.stringify([rows.find(({ id }) => id === 0), digestOf(models.filter(isOwn))]), others: JSON.stringify(digestOf(others)) };
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

function contentOf({ id }: ModelRow): string {
  return `SELECT ${id}, md5(coalesce(string_agg(md5(t::text), '' ORDER BY namespace, name), '')) FROM platform.m_${id} t`;
}
