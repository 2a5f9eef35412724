import type { ModelInfo } from './model-info.ts';

export const eventInfo: ModelInfo = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  hasStatusSubresource: false,
  verbs: [],
  shortNames: [],
  versions: ['v1'],
};

/** As much of a core/v1 Event as the console shows. */
export interface EventObject {
  metadata: { uid: string; creationTimestamp: string };
  type?: string;
  reason?: string;
  message?: string;
  count?: number | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  involvedObject: { apiVersion?: string; kind?: string; namespace?: string; name?: string };
}

/** When it last happened. */
export function lastSeen({ metadata, lastTimestamp, eventTime }: EventObject): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp;
}
