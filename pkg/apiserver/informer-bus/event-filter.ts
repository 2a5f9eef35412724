import { compileSelector, type Selector } from '#pkg/apimachinery/index';
import type { ChangeEvent } from './change-event.ts';

/** A change as one watcher sees it; `state` is the state of the object that is sent. */
export type FilteredEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; state: 'current' | 'previous' };

/**
 * Compiles the filter of a watch with this namespace and selector. An object that starts to match is ADDED; one that
 * stops to match is DELETED in its last matching state; a deleted one is sent in its final state. Without a selector
 * nothing is parsed. The filter throws KeyNotComputed if the selector needs a key that was not computed at the time of
 * the change. Source: k8s.io/apiserver, watch cache.
 */
export function compileEventFilter(
  namespace: string | undefined,
  selector: Selector,
): (event: ChangeEvent) => FilteredEvent | undefined {
  const names = wantedNames(selector);
  const matches = selector.labels.length + selector.fields.length === 0 ? undefined : compileSelector(selector);
  return (event) => {
    const { change } = event;
    if (namespace !== undefined && namespace !== '' && change.namespace !== namespace) return undefined;
    // A name never changes, so most watches of a single object need not parse the others.
    if (names !== undefined && !names.has(change.name)) return undefined;
    if (matches === undefined) return { type: eventTypes[change.type], state: 'current' };
    return transition(event, matches);
  };
}

const eventTypes = { create: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const;

function transition(event: ChangeEvent, matches: ReturnType<typeof compileSelector>): FilteredEvent | undefined {
  const old = event.parsedOld();
  const before = old !== undefined && matches(old, event.oldKeys());
  if (event.change.type === 'delete') return before ? { type: 'DELETED', state: 'current' } : undefined;
  const after = matches(event.parsed(), event.keys());
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', state: 'current' };
  return before ? { type: 'DELETED', state: 'previous' } : undefined;
}

function wantedNames({ fields }: Selector): ReadonlySet<unknown> | undefined {
  const clause = fields.find(({ index, operator }) => index.name === 'metadata.name' && operator === 'In');
  return clause?.operator === 'In' ? new Set<unknown>(clause.values) : undefined;
}
