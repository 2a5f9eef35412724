import type { ObjectState, WatchEventRecord } from '../history.ts';
import { difference, type Matcher } from './object-match.ts';
import type { Change } from './replayed-log.ts';

/** What a watcher is to be told of a change. */
export interface ExpectedEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** After the change; where the object ceased to match, as it last did. */
  state: ObjectState;
}

/**
 * Undefined where it is to hear nothing. What comes to match is ADDED, what ceases to is DELETED, and so is what
 * matched and is deleted, in its final state.
 */
export function expectedEvent({ row }: Change, namespace: string, matches: Matcher): ExpectedEvent | undefined {
  if (namespace !== '' && row.namespace !== namespace) return undefined;
  const before = row.old !== null && matches(row, row.old);
  const after = row.type !== 'D' && row.new !== null && matches(row, row.new);
  if (row.type === 'D') return before && row.new !== null ? { type: 'DELETED', state: row.new } : undefined;
  if (after && row.new !== null) return { type: before ? 'MODIFIED' : 'ADDED', state: row.new };
  return before && row.old !== null ? { type: 'DELETED', state: row.old } : undefined;
}

/** What is wrong with an event that was to tell of this change; undefined if nothing. */
export function eventDifference(
  expected: ExpectedEvent,
  { row }: Change,
  event: WatchEventRecord & { type: ExpectedEvent['type'] },
): string | undefined {
  const { object } = event;
  if (event.type !== expected.type) return `${event.type} instead of ${expected.type}`;
  if (object.namespace !== row.namespace || object.name !== row.name)
    return `of ${object.namespace}/${object.name} instead of ${row.namespace}/${row.name}`;
  return difference(expected.state, object);
}
