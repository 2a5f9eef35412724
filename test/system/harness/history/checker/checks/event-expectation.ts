import type { ObjectState, WatchEventRecord } from '../../history.ts';
import { difference, type Matcher } from '../log/object-match.ts';
import type { Change } from '../log/replayed-log.ts';

/** The expected event of a change for a watcher. */
export interface ExpectedEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** After the change; if the object no longer matches, the last matching state. */
  state: ObjectState;
}

/**
 * Undefined without an event. An object that starts to match is ADDED; one that stops is DELETED, and so is a matching
 * object that is deleted, in its final state.
 */
export function expectedEvent({ row }: Change, namespace: string, matches: Matcher): ExpectedEvent | undefined {
  if (namespace !== '' && row.namespace !== namespace) return undefined;
  const before = row.old !== null && matches(row, row.old);
  const after = row.type !== 'D' && row.new !== null && matches(row, row.new);
  if (row.type === 'D') return before && row.new !== null ? { type: 'DELETED', state: row.new } : undefined;
  if (after && row.new !== null) return { type: before ? 'MODIFIED' : 'ADDED', state: row.new };
  return before && row.old !== null ? { type: 'DELETED', state: row.old } : undefined;
}

/** The difference between an event and its change; undefined if there is none. */
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
