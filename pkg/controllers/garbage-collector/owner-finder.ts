import {
  apiGroupOf,
  foregroundFinalizer,
  isStatusError,
  orphanFinalizer,
  type AnyObject,
  type OwnerReference,
  type Reader,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { hasFinalizer } from '#pkg/runtime/index';
import type { ServedTypes } from '../served-types/served-types.ts';
import type { OwnerId, OwnerState, OwnerStates } from './owner-states.ts';

/** `unknown`: its kind is not served now. `invalid`: a namespaced owner of a cluster-scoped object. */
export type FoundOwner = OwnerState | 'unknown' | 'invalid';

export interface OwnerFinderOptions {
  client: Reader;
  types: ServedTypes;
  states: OwnerStates;
  /** Whether the owner with this uid was deleted recently. */
  isGone: (uid: string) => boolean;
}

/** Finds the state of owners: from memory, else from the API. Not from a cache, which might lag behind a new owner. */
export class OwnerFinder {
  readonly #options: OwnerFinderOptions;

  constructor(options: OwnerFinderOptions) {
    this.#options = options;
  }

  /** Whether all owners of an object are known to exist. Makes no request. */
  areKnown(type: ResourceType, { metadata }: AnyObject): boolean {
    return (metadata.ownerReferences ?? []).every((reference) => {
      const id = this.idOf(type, metadata.namespace, reference);
      return id !== undefined && this.#options.states.get(id) === 'solid';
    });
  }

  async find(
    type: ResourceType,
    namespace: string | undefined,
    reference: OwnerReference,
    signal: AbortSignal,
  ): Promise<FoundOwner> {
    const ownerType = this.typeOf(reference);
    if (ownerType === undefined) return this.#options.isGone(reference.uid) ? 'absent' : 'unknown';
    const id = this.idOf(type, namespace, reference);
    if (id === undefined) return 'invalid';
    const { states } = this.#options;
    const known = states.get(id);
    if (known !== undefined) return known;
    const { generation } = states;
    const state = stateOf(await this.#get(ownerType, id, signal), id.uid);
    states.note(id, state, generation);
    // An event may have reported the deletion meanwhile.
    return states.get(id) ?? state;
  }

  typeOf({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): ResourceType | undefined {
    return this.#options.types.ofKind(apiGroupOf(apiVersion), kind);
  }

  /**
   * The owner's key: in its dependent's namespace if the owner is namespaced. Undefined for a kind that is not served,
   * and for an invalid reference.
   */
  idOf(type: ResourceType, namespace: string | undefined, reference: OwnerReference): OwnerId | undefined {
    const ownerType = this.typeOf(reference);
    if (ownerType === undefined || (ownerType.namespaced && !type.namespaced)) return undefined;
    const { name, uid } = reference;
    return {
      group: ownerType.group,
      kind: ownerType.kind,
      namespace: ownerType.namespaced ? (namespace ?? '') : '',
      name,
      uid,
    };
  }

  /** Undefined only if the API says that no object of this name exists. */
  async #get(
    type: ResourceType,
    { namespace, name }: OwnerId,
    signal: AbortSignal,
  ): Promise<Stored<AnyObject> | undefined> {
    try {
      return await this.#options.client.get(type, { namespace, name }, { signal });
    } catch (error) {
      // A 404 for the type or namespace says nothing about its objects.
      const isGone =
        isStatusError(error, 'NotFound') && error.details?.name === name && error.details.kind === type.plural;
      if (isGone) return undefined;
      throw error;
    }
  }
}

/** The state of the object that was found under an owner's name. */
export function stateOf(object: AnyObject | undefined, uid: string): OwnerState {
  if (object === undefined || object.metadata.uid !== uid) return 'absent';
  return isDeletedInForeground(object) ? 'waiting' : 'solid';
}

/** If an object has both finalizers, orphaning comes first. */
export function isDeletedInForeground(object: AnyObject): boolean {
  return (
    object.metadata.deletionTimestamp !== undefined &&
    hasFinalizer(object, foregroundFinalizer) &&
    !hasFinalizer(object, orphanFinalizer)
  );
}
