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
 * Starts building a controller of one type:
 * `controllerFor(Post).owns(Comment).withPredicate(generationChanged).reconcile(async ({ name }, { client }) => ...)`.
 * Every step returns a new builder. Source: controller-runtime, `pkg/builder`.
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
   * Whether the handler returns the same requests for an object during its whole life, for example because they depend
   * on its owner or on a field that never changes. A controller that resumes then need not reconcile everything because
   * such an object changed. Default false.
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

  /** Filters the events of its own type; all predicates must pass. */
  withPredicate(...predicates: readonly Predicate<T>[]): ControllerBuilder<T> {
    return this.#with({ predicates: [...this.#parts.predicates, ...(predicates as unknown as Predicate[])] });
  }

  /** Reconciles an object when an object that it owns changes. */
  owns<Owned extends AnyObject>(
    type: ResourceType<Owned>,
    options: WatchedTypeOptions<Owned> & OwnerOptions = {},
  ): ControllerBuilder<T> {
    return this.watches(type, enqueueOwner(this.#parts.type, options), options);
  }

  /** Reconciles the requests that `handler` returns for events of another type. */
  watches<Other extends AnyObject>(
    type: ResourceType<Other>,
    handler: EventHandler<Other>,
    { selection = {}, predicates = [], isMappingFixed = false }: WatchedTypeOptions<Other> = {},
  ): ControllerBuilder<T> {
    // Type and handler match within a watch, so the erased types are safe.
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
   * After a restart only reconciles what changed since the last term, deletions included, and what had not succeeded;
   * see `ControllerTuning.resume`. Change `version` together with code that treats already reconciled objects
   * differently.
   */
  withResume(options: ResumeOptions = {}): ControllerBuilder<T> {
    return this.withTuning({ resume: options });
  }

  withTuning(tuning: ControllerTuning): ControllerBuilder<T> {
    return this.#with({ tuning: { ...this.#parts.tuning, ...tuning } });
  }

  /** Completes the definition. */
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
