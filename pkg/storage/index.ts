/**
 * Persistence: the Store contract, its implementation on PostgreSQL, and the change feed.
 * One global revision numbers every write in commit order; see docs/concepts.md.
 */
export * from './body.ts';
export * from './change.ts';
export type * from './key-evaluator.ts';
export type * from './quotas.ts';
export type * from './read-budget.ts';
export * from './storage-error.ts';
export type * from './store-observer.ts';
export * from './store.ts';
export { PostgresStore, type PostgresStoreOptions } from './postgres/postgres-store.ts';
export { rewriteBodies, type RewriteBody } from './postgres/history/rewrite-bodies.ts';
export { platformMigrations } from './postgres/migrations.ts';
export {
  adoptRestored,
  auditEvents,
  historyLimits,
  modelTables,
  readHistory,
  rememberedChanges,
  type HistoryState,
} from './postgres/history/restored-history.ts';
