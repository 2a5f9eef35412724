import type { ClientBase } from 'pg';

/**
 * A commit that PostgreSQL acknowledged although the standby that it waited for may not have it: somebody cancelled the
 * wait (`pg_cancel_backend`). It is visible, and a failover may lose it.
 */
export class UnconfirmedCommitError extends Error {
  constructor() {
    super('the wait of a commit for its synchronous standby was cancelled');
    this.name = 'UnconfirmedCommitError';
  }
}

interface Notice {
  severity?: string | undefined;
  routine?: string | undefined;
}

type Settle = (error: unknown, ...rest: unknown[]) => void;

/**
 * Makes every statement of a client fail with UnconfirmedCommitError if its commit was acknowledged without the standby:
 * PostgreSQL only warns of that. Works for promises and callbacks; a stream of rows commits nothing.
 * Source: PostgreSQL, `src/backend/replication/syncrep.c`, SyncRepWaitForLSN, which gives no other warning before an
 * answer.
 */
export function refuseUnconfirmedCommits(client: ClientBase): void {
  let isUnconfirmed = false;
  client.on('notice', ({ severity, routine }: Notice) => {
    if (severity === 'WARNING' && routine === 'SyncRepWaitForLSN') isUnconfirmed = true;
  });
  /** A client runs its statements one by one, so a warning belongs to the next answer. */
  const failure = (error: unknown): unknown => {
    const wasUnconfirmed = isUnconfirmed;
    isUnconfirmed = false;
    return error ?? (wasUnconfirmed ? new UnconfirmedCommitError() : undefined);
  };
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const guarded = (...args: unknown[]): unknown => {
    const last = args.at(-1);
    if (typeof last === 'function') {
      args[args.length - 1] = (error: unknown, ...rest: unknown[]): void => (last as Settle)(failure(error), ...rest);
      return query(...args);
    }
    const answer = query(...args);
    if (!(answer instanceof Promise)) return answer;
    return answer.then(
      (result: unknown) => {
        const unconfirmed = failure(undefined);
        if (unconfirmed !== undefined) throw unconfirmed;
        return result;
      },
      (error: unknown) => {
        throw failure(error);
      },
    );
  };
  client.query = guarded as typeof client.query;
}
