import type { AnyObject, ResourceType, Selection } from '#pkg/apimachinery/index';
import type { IndexFunction } from '../cache/indexer.ts';
import type {
  CacheIndex,
  ControllerDefinition,
  ControllerTuning,
  ReconcileFunction,
  ResumeOptions,
  WatchDefinition,
} from '../definition/controller-definition.ts';
import { enqueueObject, enqueueOwner, type EventHandler, type OwnerOptions } from '../handler/event-handler.ts';
import type { Predicate } from '../predicate/predicate.ts';

/**
 * Begins a controller of one type: `controllerFor(Post).owns(Comment).withPredicate(generationChanged).reconcile(async
 * ({ name }, { client }) => ...)`. Every step answers a new builder. Source: controller-runtime, `pkg/builder`.
 */
export function controllerFor<T extends AnyObject>(
  type: ResourceType<T>,
  selection: Selection = {},
): ControllerBuilder<T> {
  return new ControllerBuilder<T>({
    type,
    selection,
    name: type.plural,
    predicates: [],
    watches: [],
    indexes: [],
    tuning: {},
  });
}

export interface WatchedTypeOptions<T extends AnyObject> {
  selection?: Selection;
  predicates?: readonly Predicate<T>[];
  /**
   * What the handler makes of an object never changes while the object is there: its owner, a name in its spec that
   * nobody edits. Then a controller that resumes need not look at everything because one of these objects changed.
   * Default false.
   */
  isMappingFixed?: boolean;
}

interface Parts {
  type: ResourceType;
  selection: Selection;
  name: string;
  predicates: readonly Predicate[];
  watches: readonly WatchDefinition[];
  indexes: readonly CacheIndex[];
  tuning: ControllerTuning;
}

export class ControllerBuilder<T extends AnyObject> {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** For logs, metrics and events; unique within a manager. Default: the plural of its type. */
  named(name: string): ControllerBuilder<T> {
    return this.#with({ name });
  }

  /** Events of its own type that are worth a look; all given ones must agree. */
  withPredicate(...predicates: readonly Predicate<T>[]): ControllerBuilder<T> {
    return this.#with({ predicates: [...this.#parts.predicates, ...(predicates as unknown as Predicate[])] });
  }

  /** Looks at an object when one that it owns changes. */
  owns<Owned extends AnyObject>(
    type: ResourceType<Owned>,
    options: WatchedTypeOptions<Owned> & OwnerOptions = {},
  ): ControllerBuilder<T> {
    return this.watches(type, enqueueOwner(this.#parts.type, options), options);
  }

  /** Looks at whatever `handler` makes of another type's events. */
  watches<Other extends AnyObject>(
    type: ResourceType<Other>,
    handler: EventHandler<Other>,
    { selection = {}, predicates = [], isMappingFixed = false }: WatchedTypeOptions<Other> = {},
  ): ControllerBuilder<T> {
    // Within a watch type and handler belong together; outside nobody asks.
    const watch = { type, selection, handler, predicates, isMappingFixed } as unknown as WatchDefinition;
    return this.#with({ watches: [...this.#parts.watches, watch] });
  }

  /** Lets `lister(type).byIndex(name, value)` find objects of a watched type. */
  withIndex<Other extends AnyObject>(
    type: ResourceType<Other>,
    name: string,
    valuesOf: IndexFunction<Other>,
  ): ControllerBuilder<T> {
    return this.#with({ indexes: [...this.#parts.indexes, { type, name, valuesOf } as unknown as CacheIndex] });
  }

  /**
   * A restart then looks only at what changed since the last turn, deletions included, and at what had not gone well;
   * see `ControllerTuning.resume`. `version` is to be changed with code that would treat objects otherwise which it has
   * looked at before.
   */
  withResume(options: ResumeOptions = {}): ControllerBuilder<T> {
    return this.withTuning({ resume: options });
  }

  withTuning(tuning: ControllerTuning): ControllerBuilder<T> {
    return this.#with({ tuning: { ...this.#parts.tuning, ...tuning } });
  }

  /** Ends the building. */
  reconcile(reconcile: ReconcileFunction): ControllerDefinition {
    const { type, selection, name, predicates, watches, indexes, tuning } = this.#parts;
    return {
      name,
      watches: [{ type, selection, handler: enqueueObject, predicates }, ...watches],
      indexes,
      tuning,
      begin: () => ({ sources: [], reconcile }),
    };
  }

  #with(change: Partial<Parts>): ControllerBuilder<T> {
    return new ControllerBuilder<T>({ ...this.#parts, ...change });
  }
}
