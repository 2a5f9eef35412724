import {
  formatGroupResource,
  type AnyObject,
  type Client,
  type Fence,
  type ResourceType,
} from '#pkg/apimachinery/index';
import type { Cache } from '../cache/cache.ts';
import type { CachedClient } from '../cache/cached-client.ts';
import { Lister } from '../cache/lister.ts';
import type { Log } from '../log.ts';
import type { EventSink } from '../recorder/event-sink.ts';
import { PositionStore, type PositionStoreOptions } from '../resume/position-store.ts';
import { Resume } from '../resume/resume.ts';
import { informerSource } from '../source/source.ts';
import { guardedLimiter } from '../workqueue/rate-limiter.ts';
import { Controller, type ControllerObserver } from './controller.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { recordLostEvents } from './record-lost-events.ts';
import type { ReconcileFailures } from './reconcile-failures.ts';

export interface ControllerEnvironment {
  cache: Cache;
  client: CachedClient;
  /** The fence of the client's writes. */
  fence?: Fence;
  log: Log;
  events: EventSink;
  /** Where positions are stored; without it no controller resumes. */
  positions?: Omit<PositionStoreOptions, 'controller'> & { client: Client };
  observer?: ControllerObserver;
  failures?: ReconcileFailures;
}

/**
 * Builds the controller of a definition on these caches. @throws Error for an invalid index, and errors of the
 * definition's functions
 */
export function buildController(given: ControllerDefinition, environment: ControllerEnvironment): Controller {
  const { cache, client, fence, log, events, observer, failures } = environment;
  const definition =
    failures === undefined
      ? given
      : {
          ...given,
          watches: given.watches.map((watch, position) =>
            recordLostEvents({ watch, position, controller: given.name, failures }),
          ),
        };
  const fenced = fence === undefined ? {} : { fence };
  const { name, watches, indexes, tuning } = definition;
  const { sources, reconcile } = given.begin();
  const resume = resumeOf(definition, environment);
  const informers =
    resume === undefined
      ? watches.map(({ type, selection, handler, predicates }) =>
          informerSource(cache.informerFor(type, selection), handler, predicates),
        )
      : [];
  for (const { type, name: index, valuesOf } of indexes) cache.informerFor(type).indexer.addIndex(index, valuesOf);
  const lister = <T extends AnyObject>(type: ResourceType<T>): Lister<T> => {
    const informer = cache.wholeOf(type);
    if (informer === undefined)
      throw new Error(
        `controller ${name} does not watch all ${formatGroupResource({ group: type.group, resource: type.plural })}`,
      );
    return new Lister(informer);
  };
  const { concurrency, timeoutMs, limiter } = tuning;
  return new Controller({
    name,
    sources: [...informers, ...sources],
    log,
    reconciler: {
      reconcile: (request, signal) => reconcile(request, { client, ...fenced, lister, events, log, signal }),
    },
    catchUp: (signal) => client.catchUp(signal),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(limiter === undefined
      ? {}
      : {
          limiter: guardedLimiter(limiter(), (error) =>
            log.error(
              { err: error, controller: name },
              'the rate limiter of a controller failed; using the built-in one',
            ),
          ),
        }),
    ...(observer === undefined ? {} : { observer }),
    ...(resume === undefined ? {} : { resume }),
    ...(failures === undefined ? {} : { failures }),
  });
}

function resumeOf(
  { name, watches, tuning }: ControllerDefinition,
  { cache, log, positions }: ControllerEnvironment,
): Resume | undefined {
  const options = tuning.resume;
  if (options === undefined || positions === undefined) return undefined;
  const informers = watches.map(({ type, selection }) => cache.informerFor(type, selection));
  return new Resume({
    watches,
    informers,
    client: positions.client,
    store: new PositionStore({ ...positions, controller: name }),
    options,
    controller: name,
    log,
  });
}
