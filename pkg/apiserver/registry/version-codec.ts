import { createHash } from 'node:crypto';
import { formatApiVersion, type JsonObject, type Model, type ModelVersion } from '#pkg/apimachinery/index';
import { decodeBody, withRevision, type StoredObject } from '#pkg/storage/index';
import { schemaFingerprint } from '../schema/schema-fingerprint.ts';
import { compileSchemaValidator, type SchemaValidator } from '../schema/schema-validator.ts';
import type { Representation } from './served-resource.ts';
import type { JsonApiObject } from './strategy.ts';

type Body = Pick<StoredObject, 'body' | 'fingerprint' | 'revision'>;

/**
 * Between what is stored and what one version's clients read. An object stored in this very version under this very schema is served
 * as it is, without being parsed; any other gets this version's apiVersion, loses what its schema does not know and gains its defaults
 * (conversion strategy None).
 */
export class VersionCodec {
  readonly apiVersion: string;
  readonly kind: string;
  readonly validator: SchemaValidator;
  private readonly storedVersion: ModelVersion;
  private readonly storedApiVersion: string;
  private readonly storedValidator: SchemaValidator;
  private readonly isStorageVersion: boolean;
  private word: string | undefined;

  constructor(model: Model, version: ModelVersion, validatorOf: (version: ModelVersion) => SchemaValidator = ({ schema }) => compileSchemaValidator(schema)) {
    this.apiVersion = formatApiVersion({ group: model.group, version: version.name });
    this.kind = model.names.kind;
    this.storedVersion = model.versions.find(({ name }) => name === model.storageVersion) ?? version;
    this.storedApiVersion = formatApiVersion({ group: model.group, version: this.storedVersion.name });
    this.isStorageVersion = this.storedVersion.name === version.name;
    this.validator = validatorOf(version);
    this.storedValidator = this.isStorageVersion ? this.validator : validatorOf(this.storedVersion);
  }

  /** What objects are stored under: the storage version and everything in its schema that matters. */
  get fingerprint(): string {
    this.word ??= createHash('sha256').update(`${this.storedVersion.name} ${schemaFingerprint(this.storedVersion.schema)}`).digest('base64url');
    return this.word;
  }

  /** The JSON a client reads. Revision 0, of an object a dry run did not create, is left out. */
  text(stored: Body): string {
    if (!this.isServedAsStored(stored)) return JSON.stringify(this.decode(stored));
    return stored.revision === 0 ? stored.body : withRevision(stored.body, stored.revision);
  }

  represent(stored: StoredObject): Representation {
    const { namespace, name, revision } = stored;
    return { namespace, name, revision, text: this.text(stored) };
  }

  /** The object in this version's form, with resourceVersion. */
  decode(stored: Body): JsonApiObject {
    const object = decodeBody(stored.body, stored.revision);
    if (stored.revision === 0) delete object.metadata.resourceVersion;
    if (this.isServedAsStored(stored)) return object;
    object.apiVersion = this.apiVersion;
    this.validator.prune(object);
    this.validator.applyDefaults(object);
    return object;
  }

  /** The object in the storage version's form; the one given may be changed. `lost` is told the fields which that version does not know. */
  toStored(object: JsonApiObject, lost: (path: string) => void = () => {}): JsonApiObject {
    if (this.isStorageVersion) return object;
    const stored = { ...object, apiVersion: this.storedApiVersion } as JsonApiObject;
    for (const path of this.storedValidator.prune(stored)) lost(path);
    this.storedValidator.applyDefaults(stored);
    return stored;
  }

  /** What is stored, to compare with: `decoded` itself where it was served as stored. */
  storedForm(stored: Body, decoded: JsonApiObject): JsonObject {
    return this.isServedAsStored(stored) ? decoded : (JSON.parse(stored.body) as JsonObject);
  }

  private isServedAsStored({ fingerprint }: Body): boolean {
    return this.isStorageVersion && fingerprint === this.fingerprint;
  }
}
