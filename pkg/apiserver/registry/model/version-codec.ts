import { createHash } from 'node:crypto';
import {
  encodeJson,
  formatApiVersion,
  isStatusError,
  newRequestEntityTooLarge,
  type JsonObject,
  type Model,
  type ModelVersion,
} from '#pkg/apimachinery/index';
import { decodeBody, splitManagedFields, storedLength, withRevision, type StoredObject } from '#pkg/storage/index';
import { DefaultBudget, DefaultsTooLarge } from '../../schema/apply-defaults.ts';
import { cloneJson, maxJsonBytes } from '../../schema/json-value.ts';
import { schemaFingerprint } from '../../schema/schema-fingerprint.ts';
import { compileSchemaValidator, type SchemaValidator } from '../../schema/schema-validator.ts';
import type { ObjectText, Representation } from '../../rest/served-resource.ts';
import { noSealer, type Sealer } from '../../rest/sealer.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { ObjectSealing } from './object-sealing.ts';

/** The fingerprint of a body that a webhook has converted: complete in the version that its apiVersion names. */
export const convertedFingerprint = 'converted';

/**
 * In bytes of JSON, defaults included: the default body limit, plus space for fields that the server and the schema
 * add.
 */
export const maxStoredSize = 4 << 20;

/** In bytes of JSON: how much defaults may add to an object that is read, besides doubling it. */
const defaultsOnRead = 64 << 10;

type Body = Pick<StoredObject, 'namespace' | 'name' | 'body' | 'managed' | 'fingerprint' | 'revision'>;

export interface VersionCodecOptions {
  /** Default: compiles them. */
  validatorOf?: (version: ModelVersion) => SchemaValidator;
  /** Default: there are no keys. */
  sealer?: Sealer;
}

/**
 * Converts between stored objects and one version of the API. An object stored in the same version under the same
 * schema is served without parsing it. Any other object gets the apiVersion of this version, loses fields that its
 * schema does not know, and gains its defaults (conversion strategy None). Where a webhook converts, a
 * `VersionConverter` has converted it before.
 *
 * Newer defaults are bounded, because they must not turn a page of small objects into a large response: an object gets
 * either all defaults or, if they would add more than its own length plus 64 KiB, none. Stored fields are always kept.
 *
 * Objects of a confidential model are stored sealed: `seal` is the last step before the store, and every read opens.
 */
export class VersionCodec {
  readonly apiVersion: string;
  readonly kind: string;
  readonly validator: SchemaValidator;
  readonly #storedVersion: ModelVersion;
  readonly #storedApiVersion: string;
  readonly #storedValidator: SchemaValidator;
  readonly #isStorageVersion: boolean;
  readonly #sealing: ObjectSealing | undefined;
  #word: string | undefined;

  constructor(
    model: Model,
    version: ModelVersion,
    { validatorOf = ({ schema }) => compileSchemaValidator(schema), sealer = noSealer }: VersionCodecOptions = {},
  ) {
    this.apiVersion = formatApiVersion({ group: model.group, version: version.name });
    this.kind = model.names.kind;
    this.#storedVersion = model.versions.find(({ name }) => name === model.storageVersion) ?? version;
    this.#storedApiVersion = formatApiVersion({ group: model.group, version: this.#storedVersion.name });
    this.#isStorageVersion = this.#storedVersion.name === version.name;
    this.#sealing = model.sealedFields === undefined ? undefined : new ObjectSealing(model, sealer);
    this.validator = validatorOf(version);
    this.#storedValidator = this.#isStorageVersion ? this.validator : validatorOf(this.#storedVersion);
  }

  /** Fingerprint of stored objects: the storage version and the relevant parts of its schema. */
  get fingerprint(): string {
    this.#word ??= createHash('sha256')
      .update(`${this.#storedVersion.name} ${schemaFingerprint(this.#storedVersion.schema)}`)
      .digest('base64url');
    return this.#word;
  }

  /**
   * The JSON for a client. Revision 0 (a dry-run create) is left out. The `final` state of a deleted object has no sealed
   * fields if it cannot be opened. @throws StatusError 500 or 503 if it cannot be opened
   */
  text(stored: Body, isFinal = false): ObjectText {
    const { body, managed } = splitManagedFields(stored);
    if (this.#sealing === undefined && this.#isInStoredForm(stored))
      return { text: stored.revision === 0 ? body : withRevision(body, stored.revision), managed };
    const bare = { ...stored, body, managed: '' };
    return { text: encodeJson(isFinal ? this.decodeFinal(bare) : this.decode(bare)), managed };
  }

  represent(stored: StoredObject, isFinal = false): Representation {
    const { namespace, name, revision } = stored;
    return { namespace, name, revision, ...this.text(stored, isFinal) };
  }

  /** The object in this version's form, with resourceVersion. @throws StatusError 500 or 503 if it cannot be opened */
  decode(stored: Body): JsonApiObject {
    return this.#decode(stored, (object) => this.#sealing?.open(object, stored));
  }

  /** Without the sealed fields if it cannot be opened: such an object must stay deletable. */
  decodeFinal(stored: Body): JsonApiObject {
    try {
      return this.decode(stored);
    } catch (error) {
      if (this.#sealing === undefined || !isStatusError(error)) throw error;
      return this.#decode(stored, (object) => this.#sealing?.drop(object));
    }
  }

  /**
   * Converts the object to the storage version; may change the given object. `lost` receives the fields that this
   * version does not know. Adds all defaults or, if they exceed the standard budget, none: an object must stay
   * deletable.
   */
  toStored(object: JsonApiObject, lost: (path: string) => void = () => {}): JsonApiObject {
    if (this.#isStorageVersion) return object;
    const stored = { ...object, apiVersion: this.#storedApiVersion } as JsonApiObject;
    for (const path of this.#storedValidator.prune(stored)) lost(path);
    return withDefaults(stored, this.#storedValidator, new DefaultBudget());
  }

  /** The stored form before it is sealed, for comparison: `decoded` itself where the object is served in that form. */
  storedForm(stored: Body, decoded: JsonApiObject): JsonObject {
    if (this.#isInStoredForm(stored)) return decoded;
    const object = decodeBody(stored.body, stored.revision, stored.managed);
    this.#sealing?.open(object, stored);
    return object;
  }

  /**
   * The object as the store gets it; `old` and `from` are the same object before the write. @throws StatusError 503
   * without a key
   */
  seal(object: JsonApiObject, old?: JsonApiObject, from?: Pick<Body, 'body'>): JsonApiObject {
    if (this.#sealing === undefined) return object;
    const before = old === undefined || from === undefined ? undefined : { object: old, body: from.body };
    return this.#sealing.seal(object, before);
  }

  /** The same for a deletion, which needs no key. */
  keepSealed(object: JsonApiObject, from: Pick<Body, 'body'>): JsonApiObject {
    return this.#sealing === undefined ? object : this.#sealing.keepSealed(object, from.body);
  }

  #decode(stored: Body, open: (object: JsonApiObject) => void): JsonApiObject {
    const object = decodeBody(stored.body, stored.revision, stored.managed);
    if (stored.revision === 0) delete object.metadata.resourceVersion;
    open(object);
    if (this.#isInStoredForm(stored)) return object;
    object.apiVersion = this.apiVersion;
    this.validator.prune(object);
    return withDefaults(object, this.validator, new DefaultBudget({ size: storedLength(stored) + defaultsOnRead }));
  }

  #isInStoredForm({ fingerprint }: Pick<Body, 'fingerprint'>): boolean {
    return fingerprint === convertedFingerprint || (this.#isStorageVersion && fingerprint === this.fingerprint);
  }
}

/** @throws StatusError 413 for an object that is too large to be stored, unless the stored object was as large. */
export function checkStoredSize(stored: JsonApiObject, from?: Pick<Body, 'body' | 'managed' | 'revision'>): void {
  // The store encodes the object; encode it here only where it may be too large.
  if (maxJsonBytes(stored, maxStoredSize) <= maxStoredSize) return;
  const size = Buffer.byteLength(JSON.stringify(stored));
  if (
    size <= maxStoredSize ||
    (from !== undefined &&
      size <= Buffer.byteLength(withRevision(from.body, from.revision)) + Buffer.byteLength(from.managed ?? ''))
  )
    return;
  throw newRequestEntityTooLarge(`the object, defaults included, would be larger than ${maxStoredSize} bytes`);
}

/** The object with all defaults or with none. */
function withDefaults(object: JsonApiObject, validator: SchemaValidator, budget: DefaultBudget): JsonApiObject {
  const filled = cloneJson(object) as JsonApiObject;
  try {
    validator.applyDefaults(filled, { budget });
    return filled;
  } catch (error) {
    if (error instanceof DefaultsTooLarge) return object;
    throw error;
  }
}
