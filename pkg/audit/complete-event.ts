import type { JsonObject } from '#pkg/apimachinery/index';
import type { StoredAuditRecord } from './audit-log.ts';

/** The event of a row, for a write with the revision that the database gave it, and with its time if that is known. */
export function completeEvent({
  event,
  at,
  revision,
}: Pick<StoredAuditRecord, 'event' | 'revision'> & { at?: string }): JsonObject {
  const parsed = JSON.parse(event) as JsonObject;
  if (revision === undefined) return parsed;
  if (at !== undefined) parsed['stageTimestamp'] = at;
  const objectRef = parsed['objectRef'] as JsonObject | undefined;
  if (objectRef !== undefined) objectRef['resourceVersion'] = String(revision);
  const metadata = (parsed['responseObject'] as JsonObject | undefined)?.['metadata'] as JsonObject | undefined;
  if (metadata !== undefined) metadata['resourceVersion'] = String(revision);
  return parsed;
}
