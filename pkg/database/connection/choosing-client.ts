import { callbackify } from 'node:util';
import type pg from 'pg';
import type { DatabaseTarget } from './database-hosts.ts';
import { endClient } from './end-client.ts';
import { maxHostMs, UnsuitableHostError, type HostSelector } from './host-selector.ts';

/** What PostgreSQL tells of itself at the start of a session, and with `on` makes a host unsuitable. */
const refusedStates: Readonly<Record<DatabaseTarget, ReadonlySet<string>>> = {
  any: new Set(),
  primary: new Set(['in_hot_standby']),
  'read-write': new Set(['in_hot_standby', 'default_transaction_read_only']),
};

interface ParameterStatus {
  parameterName: string;
  parameterValue: string;
}

/** A client of this class that connects to the chosen host when it connects, whatever host its options name. */
export function choosingClient(
  clientClass: typeof pg.Client,
  selector: HostSelector,
  target: DatabaseTarget,
): typeof pg.Client {
  return class ChoosingClient extends clientClass {
    constructor(options: pg.ClientConfig = {}) {
      const { connectionTimeoutMillis = maxHostMs } = options;
      super({ ...options, connectionTimeoutMillis: Math.min(connectionTimeoutMillis, maxHostMs) });
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
      if (callback === undefined) return this.#connectToChosen();
      callbackify(() => this.#connectToChosen())(callback);
    }

    async #connectToChosen(): Promise<pg.Client> {
      const host = await selector.choose();
      Object.assign(this, host);
      this.once('error', () => selector.forget(host));
      let isSuitable = true;
      const note = ({ parameterName, parameterValue }: ParameterStatus): void => {
        if (parameterValue === 'on' && refusedStates[target].has(parameterName)) isSuitable = false;
      };
      this.connection.on('parameterStatus', note);
      try {
        await super.connect();
      } catch (error) {
        selector.forget(host);
        throw error;
      } finally {
        this.connection.off('parameterStatus', note);
      }
      if (isSuitable) return this;
      selector.forget(host);
      await endClient(this);
      throw new UnsuitableHostError(target);
    }
  };
}
