import { isJsonObject, runInTurns, type JsonSchema, type StatusCause } from '#pkg/apimachinery/index';
import {
  defaultDefinition,
  isDefinition,
  isEstablished,
  validateDefinition,
  type CustomResourceDefinition,
  type DefinitionStatus,
} from '#pkg/apis/index';
import { StorageError, type Store, type StoredObject } from '#pkg/storage/index';
import { compileSchemaValidator } from '../../schema/schema-validator.ts';
import { validatingStructuralSchema } from '../../schema/structural/structural-schema.ts';
import type { DefinitionCatalog } from './definition-catalog.ts';
import {
  cleanupFinalizer,
  ownConditions,
  terminatingCondition,
  withDefinitionCondition,
} from './definition-conditions.ts';
import type { DefinitionLock } from './definition-lock.ts';
import { checkUnowned } from './definition-owner.ts';
import type { DefinitionSettler } from './definition-settler.ts';
import { indexKeysCauses, type KeyChecker } from './index-keys-check.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import type { JsonApiObject, Strategy, WriteIntent } from '../../rest/strategy.ts';
import { trackDefinitionStatus } from './track-definition-status.ts';

/** How long a write waits for this replica to serve what it wrote. Milliseconds. */
const servedTimeoutMs = 10_000;

export interface DefinitionStrategyOptions {
  store: Store;
  catalog: DefinitionCatalog;
  settler: DefinitionSettler;
  lock: DefinitionLock;
  /** Undefined where the server cannot compute keys. */
  keyChecker: KeyChecker | undefined;
}

/**
 * The strategy of definitions: sets defaults, validates, settles names and tables under a lock shared by all replicas,
 * and waits until this replica serves the definition. Clients cannot write what the server itself determines.
 */
export class DefinitionStrategy implements Strategy {
  readonly #store: Store;
  readonly #catalog: DefinitionCatalog;
  readonly #settler: DefinitionSettler;
  readonly #lock: DefinitionLock;
  readonly #keyChecker: KeyChecker | undefined;

  constructor({ store, catalog, settler, lock, keyChecker }: DefinitionStrategyOptions) {
    this.#store = store;
    this.#catalog = catalog;
    this.#settler = settler;
    this.#lock = lock;
    this.#keyChecker = keyChecker;
  }

  prepareForCreate(object: JsonApiObject): void {
    Object.assign(object, defaultDefinition(object));
  }

  prepareForUpdate(object: JsonApiObject, old: JsonApiObject, subresource: '' | 'status'): void {
    if (subresource === 'status' && hasConditions(object))
      object.status = { ...withOwnFacts(statusOf(object), statusOf(old)) } as JsonApiObject['status'] & object;
    else if (subresource === '') Object.assign(object, defaultDefinition(object));
    // Only the server may remove this finalizer: otherwise a PUT without it would leave the definition's objects
    // behind.
    if (old.metadata.finalizers?.includes(cleanupFinalizer) === true) addCleanupFinalizer(object);
  }

  async prepareForDelete(object: JsonApiObject): Promise<void> {
    await checkUnowned(this.#store, object);
    if (!isDefinition(object) || !isEstablished(object)) return;
    addCleanupFinalizer(object);
    Object.assign(object, withDefinitionCondition(object, terminatingCondition));
  }

  async validate(object: JsonApiObject, old: JsonApiObject | undefined, write: WriteContext): Promise<StatusCause[]> {
    const found = await schemaCauses(object);
    const validateStructuralSchema = (_schema: JsonSchema, field: string): StatusCause[] => found.get(field) ?? [];
    const causes = validateDefinition(object, { validateStructuralSchema, ...(old === undefined ? {} : { old }) });
    if (causes.length > 0 || !isDefinition(object)) return causes;
    warnOfRules(object, write);
    return indexKeysCauses(object, old, this.#keyChecker);
  }

  async commit(intent: WriteIntent, write: () => Promise<StoredObject>): Promise<StoredObject> {
    const { object, context } = intent;
    if (!isDefinition(object)) return write();
    if (context.dryRun) {
      setStatus(object, this.#settler.withComputedStatus(object));
      return write();
    }
    const stored = intent.type === 'delete' ? await write() : await this.#settled(intent, object, write);
    await this.#store.changes.waitFor(stored.revision, servedTimeoutMs);
    return stored;
  }

  #settled(
    intent: WriteIntent,
    definition: JsonApiObject & CustomResourceDefinition,
    write: () => Promise<StoredObject>,
  ): Promise<StoredObject> {
    return this.#lock.run(intent.context.signal, async (held) => {
      this.#checkFresh(intent);
      setStatus(definition, await this.#settler.settle(definition));
      held.throwIfAborted();
      return write();
    });
  }

  /** Fails a stale write before it changes tables. */
  #checkFresh({ object, from }: WriteIntent): void {
    const known = this.#catalog.get(object.metadata.name)?.revision;
    if (known === from?.revision) return;
    if (from === undefined) throw new StorageError('AlreadyExists', 'the definition exists');
    throw new StorageError(known === undefined ? 'NotFound' : 'Conflict', 'the definition was changed');
  }
}

/**
 * The problems in each version's schema, by field. Runs first and yields to the event loop, because it takes longest.
 */
async function schemaCauses(object: JsonApiObject): Promise<Map<string, StatusCause[]>> {
  const found = new Map<string, StatusCause[]>();
  if (!isDefinition(object)) return found;
  for (const [index, { schema }] of object.spec.versions.entries()) {
    const field = `spec.versions[${index}].schema.openAPIV3Schema`;
    if (schema?.openAPIV3Schema !== undefined)
      found.set(field, await runInTurns(validatingStructuralSchema(schema.openAPIV3Schema, field)));
  }
  return found;
}

function setStatus(object: JsonApiObject, settled: object): void {
  const before = { ...object } as JsonApiObject;
  Object.assign(object, settled);
  trackDefinitionStatus(before, object);
}

function addCleanupFinalizer({ metadata }: JsonApiObject): void {
  if (metadata.finalizers?.includes(cleanupFinalizer) !== true)
    metadata.finalizers = [...(metadata.finalizers ?? []), cleanupFinalizer];
}

/** Clients may add their own conditions, and remove stored versions that no stored object uses. */
function withOwnFacts(status: DefinitionStatus, old: DefinitionStatus): DefinitionStatus {
  const conditions = [
    ...(old.conditions ?? []).filter(isOwn),
    ...(status.conditions ?? []).filter((condition) => !isOwn(condition)),
  ];
  return { ...status, conditions, ...(old.acceptedNames === undefined ? {} : { acceptedNames: old.acceptedNames }) };
}

function isOwn({ type }: { type: string }): boolean {
  return ownConditions.has(type);
}

/** Conditions of another shape are left unchanged: the schema rejects them. */
function hasConditions({ status }: JsonApiObject): boolean {
  if (status === undefined) return true;
  if (!isJsonObject(status)) return false;
  const { conditions = [] } = status;
  return (
    Array.isArray(conditions) &&
    conditions.every(
      (each) => isJsonObject(each) && typeof each['type'] === 'string' && typeof each['status'] === 'string',
    )
  );
}

/** A status of another shape becomes empty here: the schema rejects it before the result is used. */
function statusOf({ status }: JsonApiObject): DefinitionStatus {
  if (!isJsonObject(status)) return {};
  const { conditions } = status;
  return {
    ...status,
    conditions: Array.isArray(conditions) ? conditions.filter(isJsonObject) : [],
  } as unknown as DefinitionStatus;
}

function warnOfRules({ spec }: CustomResourceDefinition, write: WriteContext): void {
  const versions = spec.versions
    .filter(({ schema }) => compileSchemaValidator(schema?.openAPIV3Schema ?? {}).hasRules)
    .map(({ name }) => name);
  if (versions.length > 0)
    write.warn(
      `x-kubernetes-validations are not enforced yet: they are stored and published for version ${versions.join(', ')}`,
    );
}
