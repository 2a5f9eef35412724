import { callbackify } from 'node:util';
import type pg from 'pg';

type Connect = () => Promise<pg.PoolClient>;
type Connected = (error: unknown, client: pg.PoolClient | undefined, release: (end?: Error | boolean) => void) => void;

/** Makes the pool connect in another way, for whoever takes a connection and for its own `query`. */
export function replaceConnect(pool: pg.Pool, connect: (original: Connect) => Promise<pg.PoolClient>): void {
  const original = pool.connect.bind(pool) as Connect;
  const replaced = (callback?: Connected): unknown => {
    const connecting = connect(original);
    if (callback === undefined) return connecting;
    callbackify(() => connecting)((error, client) => {
      callback(error ?? undefined, client, (end) => client?.release(end));
    });
    return undefined;
  };
  pool.connect = replaced as typeof pool.connect;
}
