import { AccessDatabase } from '#pkg/access/index';
import { restore } from '#pkg/backup/index';
import { backedUpSchemas } from './backed-up-schemas.ts';
import { withBackupErrors } from './backup-command.ts';
import { withOperatorDatabase, type OperatorDatabase } from '../../composition/open-operator-database.ts';
import { openSecrets } from '../../composition/open-secrets.ts';
import type { Options } from '../../options/option-table.ts';
import { openBackup, reportReading } from './read-backup.ts';
import { untilInterrupted } from '../../process/until-interrupted.ts';

/** Restores a backup from a file or from stdin. Throws OperatorError, DatabaseError. */
export function restoreBackup(
  options: Options,
  { from, replace }: { from: string | undefined; replace: boolean },
): Promise<number> {
  return untilInterrupted(async (signal) => {
    const backup = await openBackup(from);
    try {
      return await withOperatorDatabase(
        options,
        { applicationName: 'svc restore', mayCreate: true },
        async (opened) => {
          const { version, created, tables, rows } = await withBackupErrors(
            reportReading(opened.log, backup, (progress) =>
              restore(
                { database: opened.database, schemas: backedUpSchemas, replace, signal, progress },
                backup.source,
              ),
            ),
          );
          opened.log.info({ version, created, tables, rows }, 'the backup is restored');
          await warnOfKeys(opened, options);
          return 0;
        },
      );
    } finally {
      backup.source.destroy();
    }
  });
}

/** Warns now about keys that do not fit, because no server would start with them. Creates no keys. */
async function warnOfKeys({ database, log }: OperatorDatabase, options: Options): Promise<void> {
  try {
    // A database without key checks accepts any keys.
    const { rows } = await database.pool.query<{ there: boolean }>(
      "SELECT to_regclass('access.key_checks') IS NOT NULL AS there",
    );
    if (rows[0]?.there !== true || (await database.pool.query('SELECT FROM access.key_checks LIMIT 1')).rowCount === 0)
      return;
    await openSecrets(new AccessDatabase(database), options);
  } catch (error) {
    log.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      'the configured keys cannot open the restored secrets: a server does not start with them; configure the keys of the backed-up server',
    );
  }
}
