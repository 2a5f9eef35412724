import type { ApiObject } from '../meta/object.ts';
import type { Status } from '../status/status.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** One line of a watch. A BOOKMARK's object has only its resourceVersion; an ERROR's is a Status. */
export interface WatchEvent {
  type: WatchEventType;
  object: ApiObject | Status;
}

/** Set on the bookmark that ends the initial objects of a streaming list. Source: KEP-3157. */
export const initialEventsEndAnnotation = 'k8s.io/initial-events-end';
