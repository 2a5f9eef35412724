import {
  isStatusError,
  orphanFinalizer,
  type AnyObject,
  type Client,
  type OwnerReference,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import {
  hasFinalizer,
  ignoreNotFound,
  type Log,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Source,
} from '#pkg/runtime/index';
import { inParallel } from '../parallel/in-parallel.ts';
import { resourceKey, ServedTypes, type Backoff } from '../served-types/served-types.ts';
import { collectDependent, type CollectDependentParts, type DependentOutcome } from './collect-dependent.ts';
import {
  deleteDependents,
  parallelDependents,
  isHeldByCollector,
  orphanDependents,
  parallelTypes,
  type Finishing,
} from './finish-owner.ts';
import { ObjectFollower } from './object-follower.ts';
import { hasOwner, ownedBy, ownersPerList, readChunk, readChunks } from './owned-objects.ts';
import { isDeletedInForeground, OwnerFinder } from './owner-finder.ts';
import { OwnerKinds } from './owner-kinds.ts';
import { OwnerStates, type OwnerId } from './owner-states.ts';
import { formatTarget, parseTarget } from './collector-target.ts';

/** Chunks of a sweep before other requests have their turn. */
const chunksPerRun = 10;
const changedMs = 100;

export interface CollectorOptions {
  /** Must not read from a cache. */
  client: Client;
  log: Log;
  /** Back-off of the watches. */
  backoff?: Backoff;
}

/**
 * One term of garbage collection. It watches every served type and caches no objects. It remembers which owned objects
 * to check, which owners were deleted, and, for a limited number of owners, whether they exist. At the start, and after
 * missed events, it checks all owned objects once.
 */
export class Collector implements Source {
  readonly #options: CollectorOptions;
  readonly #client: Client;
  readonly #types: ServedTypes;
  readonly #states = new OwnerStates();
  readonly #owners: OwnerFinder;
  readonly #streams = new Map<string, ObjectFollower>();
  /** Watches of types that are no longer served. */
  readonly #lastStreams = new Set<ObjectFollower>();
  readonly #kinds: OwnerKinds;
  /** Types of deleted owners, by uid. */
  readonly #deletedOwners = new Map<string, ResourceType>();
  /** Requests for owners in foreground deletion, by uid: enqueued when a dependent is deleted. */
  readonly #waiting = new Map<string, ReconcileRequest>();
  /** Metadata from the last event of each enqueued object. */
  readonly #told = new Map<string, Stored<AnyObject>['metadata']>();
  /** Continue tokens of sweeps, with the generation for which they are valid. */
  readonly #sweeps = new Map<string, { continue: string; generation: number }>();
  #enqueue: (request: ReconcileRequest) => void = () => undefined;
  #stopped = false;

  constructor(options: CollectorOptions) {
    const { client } = options;
    this.#options = options;
    this.#client = client;
    this.#types = new ServedTypes(options);
    this.#kinds = new OwnerKinds(this.#types);
    this.#owners = new OwnerFinder({
      client,
      types: this.#types,
      states: this.#states,
      isGone: (uid) => this.#deletedOwners.has(uid),
    });
  }

  async start(enqueue: (request: ReconcileRequest) => void, signal: AbortSignal): Promise<boolean> {
    this.#enqueue = enqueue;
    const synced = await this.#types.start(enqueue, signal);
    if (synced && !this.#stopped)
      this.#types.listen({
        joined: (type, resourceVersion) => this.#join(type, resourceVersion),
        left: (type) => this.#leave(type),
      });
    return synced;
  }

  problem(): unknown {
    for (const stream of this.#streams.values()) if (stream.problem !== undefined) return stream.problem;
    return this.#types.problem();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#types.stop();
    await Promise.all([...this.#streams.values(), ...this.#lastStreams].map((stream) => stream.stop()));
  }

  async reconcile(
    request: ReconcileRequest,
    { client, log, signal }: Pick<ReconcileContext, 'client' | 'log' | 'signal'>,
  ): Promise<ReconcileResult> {
    const target = parseTarget(request);
    const judging: CollectDependentParts = { writer: client, kinds: this.#kinds, log, signal };
    if (target.look === 'gone') return this.#collect(judging);
    const type = this.#types.ofResource(target.resource);
    if (type === undefined) return undefined;
    return target.look === 'sweep' ? this.#sweep(type, judging) : this.#look(type, request, judging);
  }

  #join(type: ResourceType, resourceVersion: string): void {
    const resource = resourceKey(type);
    this.#kinds.joined(type);
    const stream = new ObjectFollower({
      ...this.#options,
      type,
      resourceVersion,
      listener: {
        began: (isGap) => (isGap ? this.#missed() : this.#enqueue(formatTarget({ look: 'sweep', resource }))),
        event: (change, object) => this.#event(type, change, object),
      },
    });
    this.#streams.set(resource, stream);
    stream.start();
    // Until now it was unknown whether owners of this kind exist.
    for (const dependent of this.#kinds.dependentsOf(type))
      this.#enqueue(formatTarget({ look: 'sweep', resource: resourceKey(dependent) }));
  }

  #leave(type: ResourceType): void {
    const resource = resourceKey(type);
    this.#kinds.seen(resource);
    this.#sweeps.delete(resource);
    const stream = this.#streams.get(resource);
    this.#streams.delete(resource);
    if (stream === undefined) return;
    // Its last objects may be deleted together with their definition: collect their dependents too.
    this.#lastStreams.add(stream);
    void stream.finish().finally(() => this.#lastStreams.delete(stream));
  }

  #missed(): void {
    this.#states.clear();
    for (const resource of this.#streams.keys()) this.#enqueue(formatTarget({ look: 'sweep', resource }));
  }

  #event(type: ResourceType, change: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored<AnyObject>): void {
    if (change === 'DELETED') return this.#deleted(type, object);
    this.#kinds.note(type, object);
    this.#wakeOwners(
      (object.metadata.ownerReferences ?? []).filter(({ blockOwnerDeletion }) => blockOwnerDeletion !== true),
    );
    const isHeld = isHeldByCollector(object);
    if (isHeld) this.#states.note(idOf(type, object), isDeletedInForeground(object) ? 'waiting' : 'solid');
    if (
      !isHeld &&
      (object.metadata.deletionTimestamp !== undefined || (object.metadata.ownerReferences ?? []).length === 0)
    )
      return;
    const request = requestFor(type, object);
    if (!isHeld) this.#told.set(keyOf(request), object.metadata);
    this.#enqueue(request);
  }

  #deleted(type: ResourceType, object: Stored<AnyObject>): void {
    const { uid, ownerReferences = [] } = object.metadata;
    this.#states.note(idOf(type, object), 'absent');
    this.#waiting.delete(uid);
    this.#told.delete(keyOf(requestFor(type, object)));
    if (this.#kinds.isOwner(type)) {
      this.#deletedOwners.set(uid, type);
      this.#enqueue(formatTarget({ look: 'gone' }));
    }
    this.#wakeOwners(ownerReferences);
  }

  /** Enqueues the owners that wait for their dependents. */
  #wakeOwners(references: readonly OwnerReference[]): void {
    for (const { uid } of references) {
      const waiting = this.#waiting.get(uid);
      if (waiting !== undefined) this.#enqueue(waiting);
    }
  }

  async #look(type: ResourceType, request: ReconcileRequest, judging: CollectDependentParts): Promise<ReconcileResult> {
    const lastMetadata = this.#told.get(keyOf(request));
    this.#told.delete(keyOf(request));
    if (
      lastMetadata !== undefined &&
      this.#owners.areKnown(type, { apiVersion: '', kind: type.kind, metadata: lastMetadata })
    )
      return undefined;
    const target = parseTarget(request);
    if (target.look !== 'object') return undefined;
    const object = await ignoreNotFound(this.#client.get(type, target.key, { signal: judging.signal }));
    if (object === undefined) return undefined;
    if (isHeldByCollector(object)) return this.#finish(type, object, judging);
    this.#kinds.note(type, object);
    return (await collectDependent(this.#owners, type, object, judging)) === 'changed'
      ? { requeueAfterMs: changedMs }
      : undefined;
  }

  #finish(type: ResourceType, object: Stored<AnyObject>, judging: CollectDependentParts): Promise<ReconcileResult> {
    const finishing: Finishing = { reader: this.#client, owners: this.#owners, judging };
    const isOrphaning = hasFinalizer(object, orphanFinalizer);
    this.#states.note(idOf(type, object), isOrphaning ? 'solid' : 'waiting');
    if (isOrphaning) return orphanDependents(type, object, finishing);
    this.#waiting.set(object.metadata.uid, requestFor(type, object));
    return deleteDependents(type, object, finishing);
  }

  /** Checks the dependents of deleted owners, many owners at once. */
  async #collect(judging: CollectDependentParts): Promise<ReconcileResult> {
    const owners = [...this.#deletedOwners].slice(0, ownersPerList);
    if (owners.length === 0) return undefined;
    const types = new Set(owners.flatMap(([, type]) => this.#kinds.dependentsOf(type)));
    const fieldSelector = ownedBy(owners.map(([uid]) => uid));
    await inParallel(types, parallelTypes, async (type) => {
      for await (const chunk of readChunks(this.#client, type, { fieldSelector, signal: judging.signal }))
        await this.#judge(type, chunk, judging);
    });
    for (const [uid] of owners) this.#deletedOwners.delete(uid);
    return this.#deletedOwners.size > 0 ? { requeueAfterMs: 0 } : undefined;
  }

  /** Checks every object of a type that has owners, then those that wait for the collector. */
  async #sweep(type: ResourceType, judging: CollectDependentParts): Promise<ReconcileResult> {
    const resource = resourceKey(type);
    const { generation } = this.#states;
    for (let chunks = 0; chunks < chunksPerRun; chunks += 1) {
      const known = this.#sweeps.get(resource);
      // After missed events the sweep starts from the beginning.
      const from = known?.generation === generation ? known.continue : undefined;
      const chunk = await this.#sweptChunk(type, from, judging.signal);
      for (const object of chunk.items) this.#kinds.note(type, object);
      await this.#judge(type, chunk.items, judging);
      if (chunk.continue === undefined) {
        this.#sweeps.delete(resource);
        this.#kinds.seen(resource);
        await this.#findHeld(type, judging.signal);
        return undefined;
      }
      this.#sweeps.set(resource, { continue: chunk.continue, generation });
    }
    return { requeueAfterMs: 0 };
  }

  async #sweptChunk(type: ResourceType, from: string | undefined, signal: AbortSignal): ReturnType<typeof readChunk> {
    try {
      return await readChunk(this.#client, type, {
        fieldSelector: hasOwner,
        signal,
        ...(from === undefined ? {} : { continue: from }),
      });
    } catch (error) {
      if (isStatusError(error, 'Expired')) this.#sweeps.delete(resourceKey(type));
      throw error;
    }
  }

  async #findHeld(type: ResourceType, signal: AbortSignal): Promise<void> {
    for await (const chunk of readChunks(this.#client, type, { fieldSelector: 'metadata.deletionTimestamp', signal })) {
      for (const object of chunk.filter(isHeldByCollector)) this.#enqueue(requestFor(type, object));
    }
  }

  /** A failing object is retried separately, and does not block the others. */
  async #verdictOn(
    type: ResourceType,
    object: Stored<AnyObject>,
    judging: CollectDependentParts,
  ): Promise<DependentOutcome> {
    try {
      return await collectDependent(this.#owners, type, object, judging);
    } catch (error) {
      judging.signal.throwIfAborted();
      judging.log.debug(
        { err: error, resource: type.plural, object: object.metadata.name },
        'could not check an owned object; retrying it separately',
      );
      return 'changed';
    }
  }

  async #judge(
    type: ResourceType,
    objects: readonly Stored<AnyObject>[],
    judging: CollectDependentParts,
  ): Promise<void> {
    await inParallel(objects, parallelDependents, async (object) => {
      judging.signal.throwIfAborted();
      if ((await this.#verdictOn(type, object, judging)) === 'changed') this.#enqueue(requestFor(type, object));
    });
  }
}

function requestFor(type: ResourceType, { metadata: { namespace = '', name } }: Stored<AnyObject>): ReconcileRequest {
  return formatTarget({ look: 'object', resource: resourceKey(type), key: { namespace, name } });
}

function keyOf({ namespace, name }: ReconcileRequest): string {
  return `${namespace}/${name}`;
}

function idOf({ group, kind }: ResourceType, { metadata: { namespace = '', name, uid } }: Stored<AnyObject>): OwnerId {
  return { group, kind, namespace, name, uid };
}
