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

/** `unknown`: its kind is not served at present. `invalid`: a namespaced owner of an object without a namespace. */
export type FoundOwner = OwnerState | 'unknown' | 'invalid';

export interface OwnerFinderOptions {
  client: Reader;
  types: ServedTypes;
  states: OwnerStates;
  /** Was the owner of this uid seen to go, not long ago? */
  isGone: (uid: string) => boolean;
}

/** Finds out about owners: from memory, else from the API, never from a cache, which might not know an owner yet. */
export class OwnerFinder {
  readonly #options: OwnerFinderOptions;

  constructor(options: OwnerFinderOptions) {
    this.#options = options;
  }

  /** Are all owners of an object known to be there? Asks nobody. */
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
    // A deletion may have been told of meanwhile.
    return states.get(id) ?? state;
  }

  typeOf({ apiVersion, kind }: Pick<OwnerReference, 'apiVersion' | 'kind'>): ResourceType | undefined {
    return this.#options.types.ofKind(apiGroupOf(apiVersion), kind);
  }

  /**
   * Where the owner must be: in its dependent's namespace, if it is in one. Undefined for a kind that is not served,
   * and for what cannot be.
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

  /** Undefined only where the API says that there is no object of this name. */
  async #get(
    type: ResourceType,
    { namespace, name }: OwnerId,
    signal: AbortSignal,
  ): Promise<Stored<AnyObject> | undefined> {
    try {
      return await this.#options.client.get(type, { namespace, name }, { signal });
    } catch (error) {
      // That the type or the namespace is not there says nothing of its objects.
      const isGone =
        isStatusError(error, 'NotFound') && error.details?.name === name && error.details.kind === type.plural;
      if (isGone) return undefined;
      throw error;
    }
  }
}

/** Of an object found under an owner's name. */
export function stateOf(object: AnyObject | undefined, uid: string): OwnerState {
  if (object === undefined || object.metadata.uid !== uid) return 'absent';
  return isDeletedInForeground(object) ? 'waiting' : 'solid';
}

/** Where both are asked for, orphaning comes first. */
export function isDeletedInForeground(object: AnyObject): boolean {
  return (
    object.metadata.deletionTimestamp !== undefined &&
    hasFinalizer(object, foregroundFinalizer) &&
    !hasFinalizer(object, orphanFinalizer)
  );
}
