import pg from 'pg';
import { replaceConnect } from '../connection/replace-connect.ts';
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

/** Makes the pool connect again where the first credentials were refused and there are others. */
export function retryRefusedConnects(pool: pg.Pool, credentials: CredentialsFile): void {
  replaceConnect(pool, (connect) => credentials.withRetries(connect));
}
