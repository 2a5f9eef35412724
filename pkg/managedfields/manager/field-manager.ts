import {
  type ApiObject,
  equalJson,
  formatTimestamp,
  isStatusError,
  type JsonObject,
  type JsonValue,
  runSync,
  type SlicedWork,
} from '#pkg/apimachinery/index';
import { subtractingSets, unitingSets } from '../fieldpath/field-set.ts';
import { applyingConfig } from '../merge/apply-config.ts';
import { ManagerConflicts } from '../merge/manager-conflicts.ts';
import {
  ConversionNeeded,
  type ConvertObject,
  type ManagerId,
  type Managers,
  managerKey,
  type NodeOfVersion,
  sameFields,
  type SetFilter,
} from '../merge/managers.ts';
import { reconcilingManagers, takingFromOthers } from '../merge/update-managers.ts';
import { comparingTyped } from '../typed/compare.ts';
import type { TypeNode } from '../typed/type-node.ts';
import type { TypeSchema } from '../typed/type-schema.ts';
import { TypedError } from '../typed/typed-error.ts';
import { validatingTyped } from '../typed/validate.ts';
import { fieldConflicts, newApplyConflict } from './apply-conflict.ts';
import { cappingManagers } from './cap-managers.ts';
import { findingConflictsBeyondLastApplied, kubectlManager, updateLastApplied } from './last-applied.ts';
import type { ManagedFieldsEntry } from './managed-fields-entry.ts';
import {
  isEqualButTimes,
  isReset,
  readingManagedFields,
  textOf,
  UnreadableManagedFields,
  writingManagedFields,
} from './managed-fields-list.ts';
import { newFieldSet, newResetFilter, type ResetFields } from './reset-fields.ts';
import { isEmpty } from '../fieldpath/is-empty.ts';

export interface FieldManagerOptions {
  /** The served versions by apiVersion (`blog.example.com/v1`). Entries of other versions are dropped at a write. */
  versions: ReadonlyMap<string, TypeSchema>;
  /** By subresource; '' is the object's own endpoint. Default: nothing is reset. */
  resetFields?: Readonly<Record<string, ResetFields>>;
}

export interface FieldApplyOptions {
  manager: string;
  /** Takes fields that others own. Default false: a conflict is refused. */
  force?: boolean;
  /** `status` or `scale`. Default ''. */
  subresource?: string;
  /** Milliseconds since 1970. */
  now: number;
  /** Default: all versions have the same fields. */
  convert?: ConvertObject | undefined;
}

export interface ApplyResult {
  /**
   * The merged object, without defaults and with `managedFields` in its metadata; `live` itself (===) if nothing
   * changed but times. It shares values with `live` and `config`: copy it before you change it.
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
  /** Default: all versions have the same fields. */
  convert?: ConvertObject | undefined;
}

/** The manager of what an object had before somebody applied for the first time. */
const beforeFirstApply = 'before-first-apply';

/** What the server sets, or what names the object: nobody owns it. */
const unownedFields = newFieldSet([
  ['apiVersion'],
  ['kind'],
  ['metadata'],
  ...['name', 'namespace', 'creationTimestamp', 'selfLink', 'uid', 'clusterName', 'generation', 'managedFields'].map(
    (name) => ['metadata', name],
  ),
  ['metadata', 'resourceVersion'],
]);

/**
 * The managed fields of the objects of one model. Stateless: a retry with another live object is another call. Each
 * manager's fields are those of the version that it wrote; `convert` gives the objects in that version.
 */
export class FieldManager {
  readonly #versions: ReadonlyMap<string, TypeSchema>;
  readonly #filters: ReadonlyMap<string, SetFilter>;
  readonly #nodeOf: NodeOfVersion = (apiVersion) => this.#versions.get(apiVersion)?.root;

  constructor({ versions, resetFields = {} }: FieldManagerOptions) {
    this.#versions = versions;
    this.#filters = new Map(
      Object.entries(resetFields).map(([subresource, fields]) => [subresource, newResetFilter(fields)]),
    );
  }

  /**
   * Merges an applied configuration into the live object (undefined: makes one). `config` has the apiVersion of the
   * endpoint; so has `live`.
   * @throws ApplyConflict 409, with the causes
   * @throws TypedError 400: the configuration does not fit the schema
   * @throws StatusError 413: the managers would own more than 50 000 fields
   * @throws ConversionNeeded, by `convert`
   */
  *applying(live: ApiObject | undefined, config: ApiObject, options: FieldApplyOptions): SlicedWork<ApplyResult> {
    const { manager: name, subresource = '', now } = options;
    const self = newManagerId(name, true, config.apiVersion, subresource);
    const node = this.#nodeOf(config.apiVersion);
    if (node === undefined) throw new TypedError(`no corresponding type for ${describeType(config)}`);
    if ((config.metadata?.managedFields ?? null) !== null) throw new TypedError('metadata.managedFields must be nil');
    yield* requireType(node, config, 'patch');
    const before = live === undefined ? newEmptyObject(config) : withoutManagedFields(live);
    if (live !== undefined) yield* requireType(node, before, 'live');
    const managers = yield* this.#managersToApply(live, before, config.apiVersion, options);
    const wanted = asJson(config);
    const merged = yield* this.#merging(before, wanted, managers, self, options);
    yield* stripUnowned(managers, managerKey(self));
    const isSame = equalJson(merged, before);
    if (!isSame) renewTime(managers, managerKey(self), now);
    const object = name === kubectlManager ? updateLastApplied(isSame ? before : merged, wanted) : merged;
    const entries = yield* writingManagedFields(managers);
    yield;
    return newResult(live, before, object, entries);
  }

  /** As `applying`, at once. */
  apply(live: ApiObject | undefined, config: ApiObject, options: FieldApplyOptions): ApplyResult {
    return runSync(this.applying(live, config, options));
  }

  /**
   * The managed fields after a create (live undefined), PUT, or patch of another type. `updated` is the object as it
   * will be stored, except that `metadata.managedFields` is ignored. Never throws: if they cannot be computed, the
   * live ones are kept, and with more than 50 000 fields there are none. An entry's time is `now` if the write gave it
   * fields. Only ConversionNeeded passes.
   */
  *updating(live: ApiObject | undefined, updated: ApiObject, options: UpdateOptions): SlicedWork<ManagedFieldsEntry[]> {
    try {
      const managers = yield* managersToUpdate(live, options);
      if (managers.size === 0) return live === undefined ? yield* this.#creating(updated, options) : [];
      const before = live === undefined ? newEmptyObject(updated) : withoutManagedFields(live);
      yield* this.#updating(before, withoutManagedFields(updated), managers, options);
      return yield* writingManagedFields(managers);
    } catch (error) {
      if (error instanceof ConversionNeeded) throw error;
      if (isStatusError(error, 'RequestEntityTooLarge')) return [];
      return (live?.metadata.managedFields ?? []) as ManagedFieldsEntry[];
    }
  }

  /** As `updating`, at once. */
  update(live: ApiObject | undefined, updated: ApiObject, options: UpdateOptions): ManagedFieldsEntry[] {
    return runSync(this.updating(live, updated, options));
  }

  /** As `#updating` from an empty object that has no manager, in fewer steps: the one manager owns all. */
  *#creating(object: ApiObject, { manager, subresource = '', now }: UpdateOptions): SlicedWork<ManagedFieldsEntry[]> {
    const self = newManagerId(manager, false, textOf(object.apiVersion), subresource);
    const node = this.#nodeOf(self.apiVersion);
    if (node === undefined) return [];
    const { changed } = yield* comparingTyped(node, newEmptyObject(object), withoutManagedFields(object));
    const set = yield* subtractingSets(this.#filterOf(subresource)(changed), unownedFields);
    if (isEmpty(set)) return [];
    return yield* writingManagedFields(new Map([['', { ...self, time: formatTimestamp(now), set }]]));
  }

  /** The managers of the live object; all that an object without any has belongs to `before-first-apply`. */
  *#managersToApply(
    live: ApiObject | undefined,
    before: JsonObject,
    apiVersion: string,
    { subresource = '', now, convert }: FieldApplyOptions,
  ): SlicedWork<Managers> {
    let managers: Managers;
    try {
      managers = yield* readingManagedFields(live?.metadata.managedFields);
    } catch (error) {
      if (!(error instanceof UnreadableManagedFields)) throw error;
      throw new TypedError(`failed to decode managed fields: ${error.message}`);
    }
    if (managers.size > 0 || live === undefined) return managers;
    const empty = newEmptyObject({ ...live, apiVersion });
    yield* this.#updating(empty, before, managers, { manager: beforeFirstApply, subresource, now, convert });
    return managers;
  }

  *#merging(
    live: JsonObject,
    config: JsonObject,
    managers: Managers,
    self: ManagerId,
    { force = false, subresource = '', convert = sameFields }: FieldApplyOptions,
  ): SlicedWork<JsonObject> {
    const nodeOf = this.#nodeOf;
    const filter = this.#filterOf(subresource);
    yield* reconcilingManagers(managers, nodeOf);
    const present = new Map(managers);
    try {
      return yield* applyingConfig({ live, config, self, force, nodeOf, convert, filter }, managers);
    } catch (error) {
      if (!(error instanceof ManagerConflicts)) throw error;
      const conflicts = fieldConflicts(error);
      const left =
        self.name === kubectlManager
          ? yield* findingConflictsBeyondLastApplied(conflicts, nodeOf(self.apiVersion)!, live)
          : conflicts;
      if (left.length > 0) throw newApplyConflict(left);
    }
    managers.clear();
    for (const [key, manager] of present) managers.set(key, manager);
    return yield* applyingConfig({ live, config, self, force: true, nodeOf, convert, filter }, managers);
  }

  *#updating(
    from: JsonObject,
    to: JsonObject,
    managers: Managers,
    { manager, subresource = '', now, convert = sameFields }: Omit<UpdateOptions, 'requested'>,
  ): SlicedWork<void> {
    const apiVersion = textOf(to['apiVersion']);
    const filter = this.#filterOf(subresource);
    yield* reconcilingManagers(managers, this.#nodeOf);
    const change = { from, to, apiVersion, nodeOf: this.#nodeOf, convert, filter };
    const self = newManagerId(manager, false, apiVersion, subresource);
    const key = managerKey(self);
    const { changed, removed } = yield* takingFromOthers(change, managers, key, true);
    const taken = yield* subtractingSets(changed, unownedFields);
    const own = managers.get(key);
    // A manager that owns all that it changes keeps its set as it is.
    let rest = own === undefined ? {} : yield* subtractingSets(own.set, removed);
    if (own !== undefined && taken !== changed)
      rest = yield* subtractingSets(rest, yield* subtractingSets(changed, taken));
    const set = yield* unitingSets(rest, taken);
    const time = isEmpty(taken) ? own?.time : formatTimestamp(now);
    if (isEmpty(set)) managers.delete(key);
    else managers.set(key, { ...(own ?? self), time, set });
    yield* cappingManagers(managers);
  }

  #filterOf(subresource: string): SetFilter {
    return this.#filters.get(subresource) ?? keepAll;
  }
}

const keepAll: SetFilter = (set) => set;

/** Where an update starts: from the managed fields of the request, if they can be read and it may set them. */
function* managersToUpdate(
  live: ApiObject | undefined,
  { subresource = '', requested }: UpdateOptions,
): SlicedWork<Managers> {
  if (requested !== undefined && subresource === '') {
    if (isReset(requested)) return new Map();
    const managers = yield* readOrNone(requested);
    if (managers.size > 0) return managers;
  }
  return live === undefined ? new Map() : yield* readOrNone(live.metadata.managedFields);
}

function* readOrNone(list: JsonValue | undefined): SlicedWork<Managers> {
  try {
    return yield* readingManagedFields(list);
  } catch (error) {
    if (error instanceof UnreadableManagedFields) return new Map();
    throw error;
  }
}

function newManagerId(name: string, isApplied: boolean, apiVersion: string, subresource: string): ManagerId {
  return { name: name === '' ? 'unknown' : name, isApplied, apiVersion, subresource };
}

function* stripUnowned(managers: Managers, key: string): SlicedWork<void> {
  const manager = managers.get(key);
  if (manager === undefined) return;
  const set = yield* subtractingSets(manager.set, unownedFields);
  if (isEmpty(set)) managers.delete(key);
  else managers.set(key, { ...manager, set });
}

function renewTime(managers: Managers, key: string, now: number): void {
  const manager = managers.get(key);
  if (manager !== undefined) managers.set(key, { ...manager, time: formatTimestamp(now) });
}

function* requireType(node: TypeNode, object: ApiObject | JsonObject, role: 'patch' | 'live'): SlicedWork<void> {
  const errors = yield* validatingTyped(node, asJson(object), { allowDuplicates: role === 'live' });
  if (errors.length === 0) return;
  const problems = errors.length === 1 ? errors[0]! : ['errors:', ...errors.map((error) => `  ${error}`)].join('\n');
  throw new TypedError(`failed to create typed ${role} object (${describeObject(object)}): ${problems}`);
}

function describeObject(object: ApiObject | JsonObject): string {
  const { name = '', namespace = '' } = (object.metadata ?? {}) as { name?: string; namespace?: string };
  return `${namespace}/${name}; ${describeType(object)}`;
}

function describeType({ apiVersion, kind }: ApiObject | JsonObject): string {
  return `${textOf(apiVersion)}, Kind=${textOf(kind)}`;
}

/** An object as the JSON value that it is. */
function asJson(object: ApiObject | JsonObject): JsonObject {
  return object as unknown as JsonObject;
}

function newEmptyObject({ apiVersion, kind }: ApiObject): JsonObject {
  return { apiVersion, kind };
}

function withoutManagedFields(object: ApiObject): JsonObject {
  if (object.metadata?.managedFields === undefined) return asJson(object);
  const { managedFields: _, ...metadata } = object.metadata;
  return asJson({ ...object, metadata });
}

function newResult(
  live: ApiObject | undefined,
  before: JsonObject,
  object: JsonObject,
  managedFields: ManagedFieldsEntry[],
): ApplyResult {
  const liveFields = (live?.metadata.managedFields ?? []) as ManagedFieldsEntry[];
  if (live !== undefined && isEqualButTimes(managedFields, liveFields) && equalJson(object, before))
    return { object: live, managedFields: liveFields };
  const metadata: JsonObject = {};
  // A map or list that was emptied is null, which metadata has nowhere.
  for (const [key, value] of Object.entries((object['metadata'] ?? {}) as JsonObject))
    if (value !== null) metadata[key] = value;
  if (managedFields.length > 0) metadata['managedFields'] = managedFields;
  return { object: { ...object, metadata } as unknown as ApiObject, managedFields };
}
