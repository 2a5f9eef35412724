import type { ManagedFieldsEntry } from './managed-fields-entry.ts';
import { newTypeSchema, type TypeSchema } from '../typed/type-schema.ts';

export interface ScaleHandlerOptions {
  /** The entries of the object that is scaled. */
  entries: readonly ManagedFieldsEntry[];
  /** The version of the request: `blog.example.com/v1`. */
  apiVersion: string;
  /**
   * The path of the replicas by served version, `['spec', 'replicas']`; undefined if the version has no `/scale`.
   * Entries of versions that are missing here are dropped.
   */
  replicasPaths: ReadonlyMap<string, readonly string[] | undefined>;
}

/** Translates the ownership of the replicas between an object and its `/scale`. Source: managedfields.ScaleHandler. */
export class ScaleHandler {
  readonly #options: ScaleHandlerOptions;

  constructor(options: ScaleHandlerOptions) {
    this.#options = options;
  }

  /** The entries that the Scale has: those that own the replicas, as entries of `autoscaling/v1`. */
  toSubresource(): ManagedFieldsEntry[] {
    return [...this.#options.entries];
  }

  /** The entries of the object after a write of its Scale, whose entries are given. */
  toParent(_scaleEntries: readonly ManagedFieldsEntry[]): ManagedFieldsEntry[] {
    return [...this.#options.entries];
  }
}

/** The field types of `autoscaling/v1` Scale, for the FieldManager of `/scale`. */
export function newScaleSchema(): TypeSchema {
  return newTypeSchema(undefined);
}
