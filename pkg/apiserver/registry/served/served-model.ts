import {
  builtinIndexes,
  equalJson,
  groupResource,
  type GroupResource,
  type Model,
  type ModelVersion,
  newForbidden,
  type ObjectKey,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { Store } from '#pkg/storage/index';
import type { ConversionWebhooks } from '../../conversion/conversion-webhooks.ts';
import type { InformerBus } from '../../informer-bus/informer-bus.ts';
import { WatchGroup } from '../../informer-bus/watch-group.ts';
import { compileSchemaValidator, type SchemaValidator } from '../../schema/schema-validator.ts';
import { FieldTracker, fieldTypesOf } from '../model/field-tracker.ts';
import type { DependentFinder } from '../model/dependent-finder.ts';
import type { InFlightIdempotencyKeys } from '../model/in-flight-idempotency-keys.ts';
import { KeyedQueue } from '../model/keyed-queue.ts';
import type { ModelContext } from '../model/model-context.ts';
import { ModelStorage } from './model-storage.ts';
import type { NamespaceSet } from '../namespace/namespace-set.ts';
import type { Sealer } from '../../rest/sealer.ts';
import type { ServedResource } from '../../rest/served-resource.ts';
import type { Strategy } from '../../rest/strategy.ts';
import { terminatingRefusal } from '../../rest/terminating-definition.ts';
import { VersionCodec } from '../model/version-codec.ts';
import { VersionConverter, type VersionConverterOptions } from '../model/version-converter.ts';

/** The services that all served models share. */
export interface SharedServing {
  store: Store;
  bus: InformerBus;
  idempotencyKeys: InFlightIdempotencyKeys;
  namespaces: NamespaceSet;
  dependents: Pick<DependentFinder, 'hasAny'>;
  exactTotalLimit: number;
  sealer: Sealer;
  webhooks: ConversionWebhooks;
}

export interface ServedModelOptions {
  shared: SharedServing;
  model: Model;
  strategy?: Strategy;
  fromDefinition: boolean;
  terminating: boolean;
  /** The model served under this name so far; unchanged parts are reused. */
  predecessor?: ServedModel;
}

interface ServedVersion {
  version: ModelVersion;
  validator: SchemaValidator;
  context: ModelContext;
  resource: ServedResource;
}

/** One served form of one model. Immutable except for its termination and retirement. */
export class ServedModel {
  readonly model: Model;
  readonly resource: GroupResource;
  readonly fromDefinition: boolean;
  readonly #versions = new Map<string, ServedVersion>();
  readonly #watches = new WatchGroup();
  #isTerminating: boolean;

  constructor({ shared, model, strategy = {}, fromDefinition, terminating, predecessor }: ServedModelOptions) {
    this.model = model;
    this.resource = groupResource(model);
    this.fromDefinition = fromDefinition;
    this.#isTerminating = terminating;
    const validators = validatorsOf(model, predecessor);
    const common = {
      ...shared,
      model,
      fromDefinition,
      resource: this.resource,
      strategy,
      queue: new KeyedQueue(),
      watches: this.#watches,
      findCreateRefusal: (key: ObjectKey) => this.#findCreateRefusal(shared, key),
      newConverter: (newer: Model, codec: VersionCodec) => converterOf(shared, { model: newer, codec }),
    };
    const fieldTypes = fieldTypesOf(model);
    const validatorOf = ({ name }: ModelVersion): SchemaValidator => validators.get(name)!;
    for (const version of model.versions) {
      const codec = new VersionCodec(model, version, { validatorOf, sealer: shared.sealer });
      const context: ModelContext = {
        ...common,
        version,
        codec,
        converter: converterOf(shared, { model, codec, validatorOf }),
        fields: new FieldTracker(model, version, fieldTypes),
      };
      this.#versions.set(version.name, {
        version,
        validator: codec.validator,
        context,
        resource: this.#resourceOf(context),
      });
    }
  }

  get terminating(): boolean {
    return this.#isTerminating;
  }

  /** Undefined for a version that does not exist or is not served. */
  find(name: string): ServedResource | undefined {
    const found = this.#versions.get(name);
    return found?.version.served === true ? found.resource : undefined;
  }

  /** The context of the storage version, served or not: for the server's own work. */
  storageContext(): ModelContext {
    return this.#versions.get(this.model.storageVersion)!.context;
  }

  /** From now on creates are rejected; existing objects are being deleted. */
  terminate(): void {
    this.#isTerminating = true;
    for (const each of this.#versions.values()) each.resource = this.#resourceOf(each.context);
  }

  /** Ends the model's watches, including those that are about to start. */
  retire(reason: string): void {
    this.#watches.end(reason);
  }

  /** The validator of this version if its schema is unchanged; else undefined. */
  validatorOf({ name, schema }: ModelVersion): SchemaValidator | undefined {
    const known = this.#versions.get(name);
    return known !== undefined && equalJson(asJson(known.version.schema), asJson(schema)) ? known.validator : undefined;
  }

  #resourceOf(context: ModelContext): ServedResource {
    return {
      model: this.model,
      version: context.version,
      resource: this.resource,
      storage: new ModelStorage(context),
      reads: new ModelStorage(context, context.store.reads),
      // Declared indexes have the stored fields, which another version may not have where a webhook converts.
      indexes:
        context.converter?.isStorageVersion === false ? builtinIndexes : [...builtinIndexes, ...this.model.indexes],
      terminating: this.#isTerminating,
    };
  }

  #findCreateRefusal({ namespaces }: SharedServing, { namespace, name }: ObjectKey): StatusError | undefined {
    const refusal = terminatingRefusal(this, name);
    if (refusal !== undefined || !namespaces.isTerminating(namespace)) return refusal;
    const detail = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const cause = {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    };
    return newForbidden(this.resource, name, detail, [cause]);
  }
}

/**
 * Not in the constructor: a closure there would keep `predecessor`, and through it all earlier models, as long as this
 * model.
 */
function validatorsOf({ versions }: Model, predecessor: ServedModel | undefined): Map<string, SchemaValidator> {
  return new Map(
    versions.map((version) => [
      version.name,
      predecessor?.validatorOf(version) ?? compileSchemaValidator(version.schema),
    ]),
  );
}

/** Interfaces have no index signature, but a schema is JSON. */
function asJson(schema: ModelVersion['schema']): Parameters<typeof equalJson>[0] {
  return schema as unknown as Parameters<typeof equalJson>[0];
}

function converterOf(
  { webhooks }: SharedServing,
  options: Omit<VersionConverterOptions, 'webhook'>,
): VersionConverter | undefined {
  const webhook = webhooks.of(options.model);
  return webhook === undefined ? undefined : new VersionConverter({ ...options, webhook });
}
