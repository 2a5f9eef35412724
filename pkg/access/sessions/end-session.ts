import type { AccessDatabase } from '../access-database.ts';
import { actorOf, type Audit } from '../audit/audit.ts';
import type { Call } from '../operations/operation.ts';
import type { Sessions } from './sessions.ts';

export interface EndSessionParts {
  sessions: Pick<Sessions, 'end'>;
  database: Pick<AccessDatabase, 'transaction'>;
  audit: Pick<Audit, 'recordOperation'>;
}

/** Ends a session of the caller and writes its audit row. False if there is none. */
export function endSession(call: Call, id: string, { sessions, database, audit }: EndSessionParts): Promise<boolean> {
  return database.transaction(async (on) => {
    const isEnded = await sessions.end(call.caller.id, id, on);
    if (isEnded)
      await audit.recordOperation({ ...actorOf(call), action: 'revoke', resourceType: 'session', resource: id }, on);
    return isEnded;
  });
}
