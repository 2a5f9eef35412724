import type { GroupResource, Model, ModelVersion, ObjectKey, StatusError } from '#pkg/apimachinery/index';
import type { ListQuery, Store } from '#pkg/storage/index';
import type { InformerBus } from '../../informer-bus/informer-bus.ts';
import type { WatchGroup } from '../../informer-bus/watch-group.ts';
import type { ListRequest } from '../../rest/served-resource.ts';
import type { Strategy } from '../../rest/strategy.ts';
import type { FieldTracker } from './field-tracker.ts';
import type { DependentFinder } from './dependent-finder.ts';
import type { InFlightIdempotencyKeys } from './in-flight-idempotency-keys.ts';
import type { KeyedQueue } from './keyed-queue.ts';
import type { VersionCodec } from './version-codec.ts';
import type { VersionConverter } from './version-converter.ts';

/** The dependencies of the verbs of one version of one model. */
export interface ModelContext {
  readonly store: Store;
  readonly bus: InformerBus;
  readonly model: Model;
  /** False for a built-in model. */
  readonly fromDefinition: boolean;
  readonly version: ModelVersion;
  readonly resource: GroupResource;
  readonly codec: VersionCodec;
  /** Set where a webhook converts between the versions. */
  readonly converter: VersionConverter | undefined;
  /** The converter of another form of this model. */
  readonly newConverter: (model: Model, codec: VersionCodec) => VersionConverter | undefined;
  readonly fields: FieldTracker;
  readonly strategy: Strategy;
  /** Serializes conflicting writes of one object, over all versions of the model. */
  readonly queue: KeyedQueue;
  readonly idempotencyKeys: InFlightIdempotencyKeys;
  readonly watches: WatchGroup;
  /** Maximum number of matches that a filtered page counts exactly. */
  readonly exactTotalLimit: number;
  /** The StatusError 403 if this object may not be created now; undefined if it may. */
  readonly findCreateRefusal: (key: ObjectKey) => StatusError | undefined;
  readonly dependents: Pick<DependentFinder, 'hasAny'>;
}

/** The kind that a StatusError 422 names. */
export function groupKind({ model }: ModelContext): { group: string; kind: string } {
  return { group: model.group, kind: model.names.kind };
}

/** Converts a list request to a query of the store. */
export function storeListQuery({ namespace, selector, sort, readBudget, signal }: ListRequest): ListQuery {
  return {
    selector,
    sort,
    signal,
    ...(namespace === undefined ? {} : { namespace }),
    ...(readBudget === undefined ? {} : { readBudget }),
  };
}
