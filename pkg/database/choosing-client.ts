import { callbackify } from 'node:util';
import pg from 'pg';
import type { DatabaseTarget } from './database-hosts.ts';
import { endClient } from './end-client.ts';
import { newReadOnly, type HostSelector } from './host-selector.ts';

/** A client that connects to the chosen host when it connects, whatever host its options name. */
export function choosingClient(selector: HostSelector, target: DatabaseTarget): typeof pg.Client {
  return class ChoosingClient extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
      if (callback === undefined) return this.#connectToChosen();
      callbackify(() => this.#connectToChosen())(callback);
    }

    async #connectToChosen(): Promise<pg.Client> {
      Object.assign(this, await selector.choose());
      this.once('error', () => selector.forget());
      let isReadOnly = false;
      const note = ({ parameterName, parameterValue }: ParameterStatus): void => {
        if (readOnlyParameters.has(parameterName) && parameterValue === 'on') isReadOnly = true;
      };
      this.connection.on('parameterStatus', note);
      try {
        await super.connect();
      } catch (error) {
        selector.forget();
        throw error;
      } finally {
        this.connection.off('parameterStatus', note);
      }
      if (!isReadOnly || target === 'any') return this;
      selector.forget();
      await endClient(this);
      throw newReadOnly();
    }
  };
}

/** What PostgreSQL tells of itself at the start of a session. */
interface ParameterStatus {
  parameterName: string;
  parameterValue: string;
}
const readOnlyParameters: ReadonlySet<string> = new Set(['in_hot_standby', 'default_transaction_read_only']);
