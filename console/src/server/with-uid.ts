import type { JsonObject } from '@svc/client';

/** The patch for this object alone: one of the same name that came later is another one, and is not changed. */
export function withUid(patch: JsonObject, uid: string): JsonObject {
  const { metadata } = patch as { metadata?: JsonObject };
  return { ...patch, metadata: { ...metadata, uid } };
}
