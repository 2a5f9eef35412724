/**
 * Access to PostgreSQL: one Database with pools, dedicated clients and kysely; schema migrations that many replicas may
 * start at once; notifications that survive a lost connection; and, for one machine and for tests, an embedded
 * PostgreSQL. The package knows nothing of the stored data.
 */
export * from './database.ts';
export type { DatabaseObserver, PoolState } from './database-observer.ts';
export { DatabaseError } from './database-error.ts';
export {
  failureSuffix,
  databaseFailure,
  databaseFailures,
  failureSentence,
  isDatabaseUnreachable,
  type DatabaseFailure,
} from './database-failure.ts';
export { EmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded/embedded-postgres.ts';
export { findEmbedded, type FoundEmbedded } from './embedded/find-embedded.ts';
export { endClient } from './connection/end-client.ts';
export { checkMigrations, type CheckedSchema, type TableUser } from './migration/check-migrations.ts';
export type { MigrateOptions, Migration } from './migration/migration-steps.ts';
export { migrate, migrateWithin, migrationLock } from './migration/migrator.ts';
export { newKysely } from './new-kysely.ts';
export * from './notifications.ts';
export * from './open-database.ts';
export { runTransaction, type TransactionOptions } from './run-transaction.ts';
export * from './run-query.ts';
export { settledWithin } from './settled-within.ts';
export * from './log.ts';
export { isDatabaseBusy, waitForDatabase } from './wait-for-database.ts';
export { WriteMonitor, writeRefusals, type WriteRefusal } from './write-monitor.ts';
