import { verifyBackup } from '#pkg/backup/index';
import type { Options } from '../../options/option-table.ts';
import { newLogger } from '../../process/logger.ts';
import { untilInterrupted } from '../../process/until-interrupted.ts';
import { backedUpSchemas } from './backed-up-schemas.ts';
import { withBackupErrors } from './backup-command.ts';
import { openBackup, reportReading } from './read-backup.ts';

/** Checks that a backup in a file, or on stdin, is whole and can be restored; needs no database. Throws OperatorError. */
export function verify(options: Options, from: string): Promise<number> {
  const log = newLogger(options, 2);
  return untilInterrupted(async (signal) => {
    const backup = await openBackup(from);
    const { version, created, tables, rows } = await withBackupErrors(
      reportReading(log, backup, (progress) =>
        verifyBackup({ schemas: backedUpSchemas, signal, progress }, backup.source),
      ),
    );
    log.info({ version, created, tables, rows }, 'the backup is whole');
    return 0;
  });
}
