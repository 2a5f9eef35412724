import { compileSelector, type Selector } from '#pkg/apimachinery/index';
import type { ChangeEvent } from './change-event.ts';

/** What a change is to one watcher; `state` says which side of it the watcher is shown. */
export type FilteredEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; state: 'current' | 'previous' };

/**
 * What a watcher with this namespace and selector hears of a change. An object that comes to match is ADDED; one that
 * ceases to is DELETED in its last matching state; one that is deleted is shown in its final state. Without a selector
 * nothing is parsed. Throws KeyNotComputed where it asks for what was not computed at the time of the change. Source:
 * k8s.io/apiserver, watch cache.
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
    // A name never changes: most of those who watch one object by name need not parse the others.
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
