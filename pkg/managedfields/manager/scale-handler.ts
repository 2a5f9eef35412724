import type { SlicedWork } from '#pkg/apimachinery/index';
import { type FieldSet, hasPath, subtractingSets, unitingSets } from '../fieldpath/field-set.ts';
import { fieldElement } from '../fieldpath/path-element.ts';
import { type Managers, managerKey } from '../merge/managers.ts';
import type { ManagedFieldsEntry } from './managed-fields-entry.ts';
import { readingManagedFields, UnreadableManagedFields, writingManagedFields } from './managed-fields-list.ts';
import { newFieldSet } from './reset-fields.ts';
import { newTypeSchema, type TypeSchema } from '../typed/type-schema.ts';
import { TypedError } from '../typed/typed-error.ts';
import { isEmpty } from '../fieldpath/is-empty.ts';

export interface ScaleHandlerOptions {
  /** The entries of the object that is scaled. */
  entries: readonly ManagedFieldsEntry[];
  /** The version of the request: `blog.example.com/v1`. */
  apiVersion: string;
  /** Who writes the Scale. */
  manager: string;
  /**
   * The path of the replicas by served version, `['spec', 'replicas']`; undefined if the version has no `/scale`.
   * Entries of versions that are missing here are dropped.
   */
  replicasPaths: ReadonlyMap<string, readonly string[] | undefined>;
}

const scaleApiVersion = 'autoscaling/v1';
const replicasOfScale: FieldSet = newFieldSet([['spec', 'replicas']]);
const replicasPathOfScale = ['spec', 'replicas'].map(fieldElement);

/** Translates the ownership of the replicas between an object and its `/scale`. Source: managedfields.ScaleHandler. */
export class ScaleHandler {
  readonly #entries: readonly ManagedFieldsEntry[];
  readonly #apiVersion: string;
  readonly #manager: string;
  readonly #paths: ReadonlyMap<string, readonly string[] | undefined>;

  constructor({ entries, apiVersion, manager, replicasPaths }: ScaleHandlerOptions) {
    this.#entries = entries;
    this.#apiVersion = apiVersion;
    this.#manager = manager;
    this.#paths = new Map([...replicasPaths].map(([version, path]) => [version, path?.map(fieldElement)]));
  }

  /**
   * The entries that the Scale has: those that own the replicas, as entries of `autoscaling/v1`.
   * @throws TypedError 400 if the entries of the object cannot be read.
   */
  *convertingToScale(): SlicedWork<ManagedFieldsEntry[]> {
    const result: Managers = new Map();
    for (const [key, manager] of yield* readingEntries(this.#entries)) {
      const path = this.#paths.get(manager.apiVersion);
      if (path === undefined || !hasPath(manager.set, path)) continue;
      result.set(key, { ...manager, apiVersion: scaleApiVersion, set: replicasOfScale });
    }
    return yield* writingManagedFields(result);
  }

  /**
   * The entries of the object after a write of its Scale, whose entries are given. Who lost the replicas of the Scale
   * loses those of the object. The entry of who wrote it has the version of the request.
   * @throws TypedError 400 if one of the lists cannot be read.
   */
  *convertingToParent(scaleEntries: readonly ManagedFieldsEntry[]): SlicedWork<ManagedFieldsEntry[]> {
    const parent = yield* readingEntries(this.#entries);
    const scale = yield* readingEntries(scaleEntries);
    const result: Managers = new Map();
    for (const [key, manager] of parent) {
      if (!this.#paths.has(manager.apiVersion)) continue;
      const path = this.#paths.get(manager.apiVersion);
      const hasReplicas = path !== undefined && hasPath(manager.set, path);
      const scaleKey = managerKey({ ...manager, apiVersion: scaleApiVersion });
      const isWriter = manager.name === this.#manager && manager.subresource === 'scale';
      if (!hasReplicas || (!isWriter && scale.delete(scaleKey))) {
        result.set(key, manager);
        continue;
      }
      const set = yield* subtractingSets(manager.set, pathSet(path));
      if (!isEmpty(set)) result.set(key, { ...manager, set });
    }
    const path = this.#paths.get(this.#apiVersion);
    for (const manager of scale.values()) {
      if (path === undefined || !hasPath(manager.set, replicasPathOfScale)) continue;
      const added = { ...manager, apiVersion: this.#apiVersion };
      const key = managerKey(added);
      const kept = result.get(key)?.set;
      const set = kept === undefined ? pathSet(path) : yield* unitingSets(kept, pathSet(path));
      // As Kubernetes has it: what comes from a Scale has no time.
      result.set(key, { ...added, set, time: parent.get(key)?.time });
    }
    return yield* writingManagedFields(result);
  }
}

function pathSet(path: readonly string[]): FieldSet {
  return newFieldSet([path.map((element) => element.slice(2))]);
}

function* readingEntries(entries: readonly ManagedFieldsEntry[]): SlicedWork<Managers> {
  try {
    return yield* readingManagedFields([...entries]);
  } catch (error) {
    if (!(error instanceof UnreadableManagedFields)) throw error;
    throw new TypedError(`failed to decode managed fields: ${error.message}`);
  }
}

/** The field types of `autoscaling/v1` Scale, for the FieldManager of `/scale`. */
export function newScaleSchema(): TypeSchema {
  const replicas = { replicas: { type: 'integer' } } as const;
  return newTypeSchema({
    type: 'object',
    properties: {
      spec: { type: 'object', properties: replicas },
      status: { type: 'object', properties: { ...replicas, selector: { type: 'string' } } },
    },
  });
}
