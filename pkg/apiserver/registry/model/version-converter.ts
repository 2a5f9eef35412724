import { formatApiVersion, type Model, type ModelVersion } from '#pkg/apimachinery/index';
import { decodeBody, encodeStoredBody, splitManagedFields, type StoredObject } from '#pkg/storage/index';
import type { ConversionWebhook } from '../../conversion/conversion-webhook.ts';
import type { BodyReader } from '../../informer-bus/change-event.ts';
import type { ObjectText } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { DefaultsTooLarge } from '../../schema/apply-defaults.ts';
import { cloneJson } from '../../schema/json-value.ts';
import { compileSchemaValidator, type SchemaValidator } from '../../schema/schema-validator.ts';
import { convertedFingerprint, type VersionCodec } from './version-codec.ts';

type Body = Pick<StoredObject, 'namespace' | 'name' | 'body' | 'managed' | 'fingerprint' | 'revision'>;

export interface VersionConverterOptions {
  model: Model;
  codec: VersionCodec;
  webhook: ConversionWebhook;
  /** Default: compiles them. */
  validatorOf?: (version: ModelVersion) => SchemaValidator;
}

/**
 * Converts objects by the webhook of their definition, to and from the version of `codec`. As in Kubernetes, an object
 * gets the defaults of its own version before it is converted, and loses afterwards the fields that the new version does
 * not know. An object that has the version already is not sent.
 */
export class VersionConverter implements BodyReader {
  readonly #codec: VersionCodec;
  readonly #webhook: ConversionWebhook;
  readonly #validators: (apiVersion: string) => SchemaValidator | undefined;
  readonly #storedApiVersion: string;

  constructor({ model, codec, webhook, validatorOf }: VersionConverterOptions) {
    this.#codec = codec;
    this.#webhook = webhook;
    this.#storedApiVersion = formatApiVersion({ group: model.group, version: model.storageVersion });
    this.#validators = validatorsByApiVersion(model, validatorOf ?? (({ schema }) => compileSchemaValidator(schema)));
  }

  /** Are objects stored in this version? */
  get isStorageVersion(): boolean {
    return this.#codec.apiVersion === this.#storedApiVersion;
  }

  /**
   * The stored objects in the form of this version, for `codec`; in the same order. @throws StatusError 500, 503; 504
   * once the signal aborts
   */
  async toVersion<T extends Body>(stored: readonly T[], signal?: AbortSignal): Promise<T[]> {
    const result = [...stored];
    const sent: { index: number; object: JsonApiObject; length: number }[] = [];
    for (const [index, each] of stored.entries()) {
      const object = this.#toConvert(each);
      if (object !== undefined) sent.push({ index, object, length: each.body.length });
    }
    const converted = await this.convert(
      sent.map(({ object }) => object),
      this.#codec.apiVersion,
      { lengths: sent.map(({ length }) => length), signal },
    );
    for (const [i, { index }] of sent.entries()) {
      const each = stored[index]!;
      const body = encodeStoredBody(converted[i]!);
      result[index] = { ...each, body, managed: splitManagedFields(each).managed, fingerprint: convertedFingerprint };
    }
    return result;
  }

  /** The stored form of an object of this version, with the defaults of the storage version. */
  async toStored(object: JsonApiObject, signal: AbortSignal): Promise<JsonApiObject> {
    if (this.isStorageVersion) return object;
    const { managedFields, resourceVersion, ...metadata } = object.metadata;
    const [converted] = await this.convert([{ ...object, metadata } as JsonApiObject], this.#storedApiVersion, {
      lengths: [0],
      signal,
    });
    const stored = this.#complete(converted!);
    if (resourceVersion !== undefined) stored.metadata.resourceVersion = resourceVersion;
    if (managedFields !== undefined) stored.metadata.managedFields = managedFields;
    return stored;
  }

  /** The form of this version of an object in another version, as the body of a stored object. */
  async bodyOf(object: JsonApiObject, signal: AbortSignal): Promise<string> {
    const { managedFields: _, resourceVersion: _revision, ...metadata } = object.metadata;
    const bare = { ...object, metadata } as JsonApiObject;
    if (object.apiVersion === this.#codec.apiVersion) return encodeStoredBody(bare);
    const [converted] = await this.convert([bare], this.#codec.apiVersion, { lengths: [0], signal });
    return encodeStoredBody(converted!);
  }

  /** Objects without resourceVersion and managedFields in another version, without the fields that it does not know. */
  async convert(
    objects: readonly JsonApiObject[],
    apiVersion: string,
    options: { lengths: readonly number[]; signal?: AbortSignal | undefined },
  ): Promise<JsonApiObject[]> {
    if (objects.length === 0) return [];
    const converted = await this.#webhook.convert(objects, apiVersion, options);
    for (const object of converted) this.#validators(apiVersion)?.prune(object);
    return converted;
  }

  prepare(stored: Body): Promise<Body> | undefined {
    return this.#toConvert(stored) === undefined ? undefined : this.toVersion([stored]).then(([prepared]) => prepared!);
  }

  text(stored: Body, isFinal?: boolean): ObjectText {
    return this.#codec.text(stored, isFinal);
  }

  /** Undefined if the object has this version. */
  #toConvert(stored: Body): JsonApiObject | undefined {
    if (stored.fingerprint === convertedFingerprint) return undefined;
    if (this.isStorageVersion && stored.fingerprint === this.#codec.fingerprint) return undefined;
    const { body } = splitManagedFields(stored);
    const object = decodeBody(body, 0);
    if (object.apiVersion === this.#codec.apiVersion) return undefined;
    delete object.metadata.resourceVersion;
    return this.#complete(object);
  }

  /** The object with the fields and defaults of its own version. A version that is gone has none. */
  #complete(object: JsonApiObject): JsonApiObject {
    const validator = this.#validators(object.apiVersion);
    if (validator === undefined) return object;
    validator.prune(object);
    const filled = cloneJson(object) as JsonApiObject;
    try {
      validator.applyDefaults(filled);
      return filled;
    } catch (error) {
      if (error instanceof DefaultsTooLarge) return object;
      throw error;
    }
  }
}

function validatorsByApiVersion(
  { group, versions }: Model,
  validatorOf: (version: ModelVersion) => SchemaValidator,
): (apiVersion: string) => SchemaValidator | undefined {
  const known = new Map<string, SchemaValidator>();
  return (apiVersion) => {
    const present = known.get(apiVersion);
    if (present !== undefined) return present;
    const version = versions.find(({ name }) => formatApiVersion({ group, version: name }) === apiVersion);
    if (version === undefined) return undefined;
    const validator = validatorOf(version);
    known.set(apiVersion, validator);
    return validator;
  };
}
