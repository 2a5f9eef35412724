import { callbackify } from 'node:util';
import pg from 'pg';
import type { CredentialsFile } from './credentials-file.ts';

/** A user that does not exist or may not log in, a wrong password. */
const refusals: ReadonlySet<string | undefined> = new Set(['28000', '28P01']);

/** A client that connects with the newest user and password, whatever its options say. */
export function credentialsClient(credentials: CredentialsFile): typeof pg.Client {
  return class CredentialsClient extends pg.Client {
    constructor(options: pg.ClientConfig = {}) {
      const connectionString = credentials.current();
      super({ ...options, connectionString });
      const end = (): void => {
        this.connection.off('errorMessage', onError);
        this.connection.off('readyForQuery', onReady);
      };
      const onError = ({ code }: { code?: string }): void => {
        end();
        if (refusals.has(code)) credentials.refused(connectionString);
      };
      const onReady = (): void => {
        end();
        credentials.accepted(connectionString);
      };
      this.connection.on('errorMessage', onError);
      this.connection.on('readyForQuery', onReady);
    }
  };
}

type Connected = (error: unknown, client: pg.PoolClient | undefined, release: (end?: Error | boolean) => void) => void;

/** Makes the pool connect again where the first credentials were refused and there are others. */
export function retryRefusedConnects(pool: pg.Pool, credentials: CredentialsFile): void {
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const retried = (callback?: Connected): unknown => {
    const connecting = credentials.withRetries(connect);
    if (callback === undefined) return connecting;
    callbackify(() => connecting)((error, client) => {
      callback(error ?? undefined, client, (end) => client?.release(end));
    });
    return undefined;
  };
  pool.connect = retried as typeof pool.connect;
}
