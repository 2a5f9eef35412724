import type { GroupResource, Model, ModelVersion, StatusCause } from '#pkg/apimachinery/index';
import type { ListQuery, Store } from '#pkg/storage/index';
import type { InformerBus } from '../../informer-bus/informer-bus.ts';
import type { WatchGroup } from '../../informer-bus/watch-group.ts';
import type { ListRequest } from '../../rest/served-resource.ts';
import type { Strategy } from '../../rest/strategy.ts';
import type { DependentFinder } from './dependent-finder.ts';
import type { InFlightIdempotencyKeys } from './in-flight-idempotency-keys.ts';
import type { KeyedQueue } from './keyed-queue.ts';
import type { VersionCodec } from './version-codec.ts';

/** What the verbs of one version of one model work with. */
export interface ModelContext {
  readonly store: Store;
  readonly bus: InformerBus;
  readonly model: Model;
  readonly version: ModelVersion;
  readonly resource: GroupResource;
  readonly codec: VersionCodec;
  readonly strategy: Strategy;
  /** Writes of one object that stand in line, over all versions of the model. */
  readonly queue: KeyedQueue;
  readonly idempotencyKeys: InFlightIdempotencyKeys;
  readonly watches: WatchGroup;
  /** Matches counted exactly in a filtered page. */
  readonly exactTotalLimit: number;
  /** Why nothing may be created (now, in this namespace); undefined if it may. */
  readonly createRefusal: (namespace: string) => CreateRefusal | undefined;
  readonly dependents: Pick<DependentFinder, 'hasAny'>;
}

/** A 403, in words. */
export interface CreateRefusal {
  detail: string;
  causes?: StatusCause[];
}

/** Who is invalid, in a 422. */
export function groupKind({ model }: ModelContext): { group: string; kind: string } {
  return { group: model.group, kind: model.names.kind };
}

/** A request's list in the store's words. */
export function storeListQuery({ namespace, selector, sort, room, signal }: ListRequest): ListQuery {
  return {
    selector,
    sort,
    signal,
    ...(namespace === undefined ? {} : { namespace }),
    ...(room === undefined ? {} : { room }),
  };
}
