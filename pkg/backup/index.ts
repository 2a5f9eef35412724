/**
 * Backup and restore of whole schemas: one consistent moment as a stream, written while servers run and restored in one
 * transaction. The owners of the schemas describe them (`BackedUpSchema`). The format is described in docs/backup.md.
 */
export type * from './backed-up-schema.ts';
export { backUp, type BackUpOptions, type BackupSummary } from './back-up.ts';
export { BackupError } from './backup-error.ts';
export { newProgress, type Progress } from './progress.ts';
export { restore, type RestoreOptions, type RestoreSummary } from './restore.ts';
export { verifyBackup, type VerifyOptions } from './verify-backup.ts';
