import type { StoredAuditRecord } from '#pkg/audit/index';

/** A row of an audit log, for tests of searches. */
export function sampleAuditRecord({ id, at }: Pick<StoredAuditRecord, 'id' | 'at'>): StoredAuditRecord {
  return { id, at, username: '', verb: '', code: 200, resource: '', namespace: '', name: '', event: '{}' };
}
