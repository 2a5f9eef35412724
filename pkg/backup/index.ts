/**
 * Backup and restore of whole schemas: one consistent moment as a stream, written beside running servers and read back
 * in one transaction. What the schemas are is told by whoever owns them (`BackedUpSchema`). The format is described in
 * docs/backup.md.
 */
export type * from './backed-up-schema.ts';
export { backUp, type BackUpOptions, type BackupSummary } from './back-up.ts';
export { BackupError } from './backup-error.ts';
export { newProgress, type Progress } from './progress.ts';
export { restore, type RestoreOptions, type RestoreSummary } from './restore.ts';
