import { formatGroupResource, type AnyObject, type ResourceType } from '#pkg/apimachinery/index';
import type { Cache } from '../cache/cache.ts';
import type { CachedClient } from '../cache/cached-client.ts';
import { Lister } from '../cache/lister.ts';
import type { Log } from '../log.ts';
import { informerSource } from '../source/source.ts';
import { Controller, type ControllerObserver } from './controller.ts';
import type { ControllerDefinition } from './controller-definition.ts';

export interface ControllerEnvironment {
  cache: Cache;
  client: CachedClient;
  log: Log;
  observer?: ControllerObserver;
}

/** The controller that a definition describes, on these caches. */
export function buildController(definition: ControllerDefinition, { cache, client, log, observer }: ControllerEnvironment): Controller {
  const { name, watches, indexes, tuning } = definition;
  const { sources, reconcile } = definition.begin();
  const informers = watches.map(({ type, selection, handler, predicates }) => informerSource(cache.informerFor(type, selection), handler, predicates));
  for (const { type, name: index, valuesOf } of indexes) cache.informerFor(type).indexer.addIndex(index, valuesOf);
  const lister = <T extends AnyObject>(type: ResourceType<T>): Lister<T> => {
    const informer = cache.wholeOf(type);
    if (informer === undefined) throw new Error(`controller ${name} does not watch all ${formatGroupResource({ group: type.group, resource: type.plural })}`);
    return new Lister(informer);
  };
  const { concurrency, timeoutMs, limiter } = tuning;
  return new Controller({
    name,
    sources: [...informers, ...sources],
    log,
    reconciler: { reconcile: (request, signal) => reconcile(request, { client, lister, log, signal }) },
    catchUp: (signal) => client.catchUp(signal),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(limiter === undefined ? {} : { limiter: limiter() }),
    ...(observer === undefined ? {} : { observer }),
  });
}
