import { accessMigrations } from '#pkg/access/index';
import { BackupError, type BackedUpSchema, type SchemaState } from '#pkg/backup/index';
import {
  adoptRestored,
  historyLimits,
  modelTables,
  platformMigrations,
  readHistory,
  rememberedChanges,
  type HistoryState,
} from '#pkg/storage/index';
import { accessContents, platformContents } from './migrated-contents.ts';

/** What a backup holds. */
export const backedUpSchemas: readonly BackedUpSchema[] = [
  // Who was logged in logs in again: a session that was ended since the backup must not come back.
  {
    name: 'access',
    migrations: accessMigrations,
    contents: accessContents,
    leftOut: ['sessions', 'bearer_tokens'],
    selections: {},
  },
  {
    name: 'platform',
    migrations: platformMigrations,
    contents: platformContents,
    // Where a database is it knows by itself, and nobody may go on from the history of another.
    leftOut: ['meta'],
    selections: { change_log: rememberedChanges },
    runtimeTables: modelTables,
    stateLimits: { ...historyLimits },
    readState: async (client) => ({ ...(await readHistory(client)) }),
    adopt: async (client, { state, replaced, tables }) => {
      const known = [state, ...(replaced === undefined ? [] : [replaced])].map(historyOf);
      const fault = await adoptRestored(client, { known, tables });
      if (fault !== undefined) throw new BackupError(`The backup is not this program's work: ${fault}.`);
    },
  },
];

/** Of a backup without them the counters begin where a new database has them. */
function historyOf({ revision, epoch }: SchemaState): HistoryState {
  return { revision: Math.max(1, revision ?? 1), epoch: Math.max(1, epoch ?? 1) };
}
