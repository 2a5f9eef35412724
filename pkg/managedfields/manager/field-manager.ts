import { newBadRequest, type ApiObject, type JsonValue } from '#pkg/apimachinery/index';
import type { TypeSchema } from '../typed/type-schema.ts';
import type { ManagedFieldsEntry } from './managed-fields-entry.ts';
import type { ResetFields } from './reset-fields.ts';

export interface FieldManagerOptions {
  /** The served versions by apiVersion (`blog.example.com/v1`). Entries of other versions are dropped at a write. */
  versions: ReadonlyMap<string, TypeSchema>;
  /** By subresource; '' is the object's own endpoint. Default: nothing is reset. */
  resetFields?: Readonly<Record<string, ResetFields>>;
}

export interface ApplyOptions {
  manager: string;
  /** Takes fields that others own. Default false: a conflict is refused. */
  force?: boolean;
  /** `status` or `scale`. Default ''. */
  subresource?: string;
  /** Milliseconds since 1970. */
  now: number;
}

export interface ApplyResult {
  /**
   * The merged object, without defaults and with `managedFields` in its metadata; `live` itself (===) if nothing
   * changed but times.
   */
  object: ApiObject;
  managedFields: ManagedFieldsEntry[];
}

export interface UpdateOptions {
  /** Empty: `unknown`. */
  manager: string;
  /** `status` or `scale`. Default ''. */
  subresource?: string;
  /** Milliseconds since 1970. */
  now: number;
  /**
   * `metadata.managedFields` of the request as it was sent, or of the object after a patch. Entries that can be read
   * replace the live ones, `[]` and `[{}]` drop them. Default: the live ones.
   */
  requested?: JsonValue | undefined;
}

/**
 * The managed fields of the objects of one model. Stateless: a retry with another live object is another call. All
 * versions of a model have the same fields but for `apiVersion`.
 */
export class FieldManager {
  readonly #options: FieldManagerOptions;

  constructor(options: FieldManagerOptions) {
    this.#options = options;
  }

  /**
   * Merges an applied configuration into the live object (undefined: makes one). `config` has the apiVersion of the
   * endpoint; so has `live`.
   * @throws ApplyConflict 409, with the causes
   * @throws TypedError 400: the configuration does not fit the schema
   */
  apply(_live: ApiObject | undefined, _config: ApiObject, _options: ApplyOptions): ApplyResult {
    throw newBadRequest(`server-side apply of ${this.#options.versions.size} versions is being built`);
  }

  /**
   * The managed fields after a create (live undefined), PUT, or patch of another type. `updated` is the object as it
   * will be stored, except that `metadata.managedFields` is ignored. Never throws: if they cannot be computed, the
   * live ones are kept. An entry's time is `now` if the write gave it fields.
   */
  update(live: ApiObject | undefined, _updated: ApiObject, _options: UpdateOptions): ManagedFieldsEntry[] {
    return (live?.metadata.managedFields ?? []) as ManagedFieldsEntry[];
  }
}
