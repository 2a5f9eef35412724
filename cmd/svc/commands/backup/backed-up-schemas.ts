import { accessMigrations } from '#pkg/access/index';
import { BackupError, type BackedUpSchema, type SchemaState } from '#pkg/backup/index';
import {
  adoptRestored,
  auditEvents,
  historyLimits,
  modelTables,
  platformMigrations,
  readHistory,
  rememberedChanges,
  type HistoryState,
} from '#pkg/storage/index';
import { accessContents, platformContents } from './migrated-contents.ts';

/** The schemas in a backup. */
export const backedUpSchemas: readonly BackedUpSchema[] = [
  // Users must log in again: a session that ended after the backup must not be restored.
  {
    name: 'access',
    migrations: accessMigrations,
    contents: accessContents,
    excludedTables: ['sessions', 'bearer_tokens'],
    selections: {},
  },
  {
    name: 'platform',
    migrations: platformMigrations,
    contents: platformContents,
    // A database keeps its own identity: no client may continue a watch from the history of another database.
    excludedTables: ['meta', 'gaps'],
    selections: { change_log: rememberedChanges, audit_events: auditEvents },
    runtimeTables: modelTables,
    stateLimits: { ...historyLimits },
    readState: async (client) => ({ ...(await readHistory(client)) }),
    adopt: async (client, { state, replaced, tables }) => {
      const known = [state, ...(replaced === undefined ? [] : [replaced])].map(historyOf);
      const fault = await adoptRestored(client, { known, tables });
      if (fault !== undefined) throw new BackupError(`This program did not write the backup: ${fault}.`);
    },
  },
];

/** If the backup has no counters, they start as in a new database. */
function historyOf({ revision, epoch }: SchemaState): HistoryState {
  return { revision: Math.max(1, revision ?? 1), epoch: Math.max(1, epoch ?? 1) };
}
