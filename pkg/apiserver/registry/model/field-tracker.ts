import {
  formatApiVersion,
  runSync,
  type ApiObject,
  type JsonObject,
  type JsonValue,
  type Model,
  type ModelVersion,
  type ScaleSubresource,
  type SlicedWork,
} from '#pkg/apimachinery/index';
import {
  FieldManager,
  newScaleSchema,
  newTypeSchema,
  ScaleHandler,
  type ConvertObject,
  type FieldApplyOptions,
  type ManagedFieldsEntry,
  type ResetFields,
  type TypeSchema,
} from '#pkg/managedfields/index';
import { scaleKind, scaleOf } from '../../rest/scale-object.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';

export interface TrackedUpdate {
  manager: string;
  subresource: '' | 'status';
  /** `metadata.managedFields` of the request. */
  requested?: JsonValue | undefined;
  /** See UpdateOptions. */
  convert?: ConvertObject | undefined;
}

const scaleApiVersion = formatApiVersion(scaleKind);
let scaleManager: FieldManager | undefined;

/** The managed fields of objects that are written through one version of a model. */
export class FieldTracker {
  readonly #model: Model;
  readonly #version: ModelVersion;
  readonly #types: () => ReadonlyMap<string, TypeSchema>;
  #manager: FieldManager | undefined;

  /** `types`: those of all served versions. Default: computed from the model. */
  constructor(model: Model, version: ModelVersion, types = fieldTypesOf(model)) {
    this.#model = model;
    this.#version = version;
    this.#types = types;
  }

  /**
   * The entries after a create (`old` is undefined), a PUT, or a patch that is not applied. @throws ConversionNeeded
   */
  updating(old: JsonApiObject | undefined, object: ApiObject, update: TrackedUpdate): SlicedWork<ManagedFieldsEntry[]> {
    return this.#fields.updating(old, object, { ...update, now: Date.now() });
  }

  /** As `updating`, at once. */
  update(old: JsonApiObject | undefined, object: ApiObject, update: TrackedUpdate): ManagedFieldsEntry[] {
    return runSync(this.updating(old, object, update));
  }

  /** The entries after a change of the replicas through `/scale`. */
  *updatingScale(
    old: JsonApiObject,
    object: JsonApiObject,
    { paths, manager }: { paths: ScaleSubresource; manager: string },
  ): SlicedWork<ManagedFieldsEntry[]> {
    try {
      const handler = this.#scaleHandler(old, manager);
      const options = { manager, subresource: 'scale', now: Date.now() };
      const scale = yield* scaleWith(handler, old, paths);
      const entries = yield* managerOfScale().updating(scale, trackedScale(object, paths), options);
      return yield* handler.convertingToParent(entries);
    } catch {
      return entriesOf(old);
    }
  }

  /** The object that results when `config` is applied. @throws StatusError 400, 409; ConversionNeeded */
  *applying(
    live: JsonApiObject | undefined,
    config: JsonApiObject,
    options: Omit<FieldApplyOptions, 'now'>,
  ): SlicedWork<JsonApiObject> {
    const { object } = yield* this.#fields.applying(live, config, { ...options, now: Date.now() });
    return object as JsonApiObject;
  }

  /** The Scale that results when `config` is applied to that of `live`, and the entries of the object then. */
  *applyingScale(
    live: JsonApiObject,
    config: JsonApiObject,
    { paths, ...options }: Omit<FieldApplyOptions, 'subresource' | 'now'> & { paths: ScaleSubresource },
  ): SlicedWork<{ scale: JsonApiObject; managedFields: ManagedFieldsEntry[] }> {
    const handler = this.#scaleHandler(live, options.manager);
    const before = yield* scaleWith(handler, live, paths);
    const { object, managedFields } = yield* managerOfScale().applying(before, config, {
      ...options,
      subresource: 'scale',
      now: Date.now(),
    });
    return { scale: object as JsonApiObject, managedFields: yield* handler.convertingToParent(managedFields) };
  }

  get #fields(): FieldManager {
    this.#manager ??= new FieldManager({
      versions: this.#types(),
      resetFields: this.#version.subresources.status ? resetWithStatus : {},
    });
    return this.#manager;
  }

  #scaleHandler(object: JsonApiObject, manager: string): ScaleHandler {
    const { group, versions } = this.#model;
    const paths = versions
      .filter(({ served }) => served)
      .map(({ name, subresources: { scale } }): [string, string[] | undefined] => [
        formatApiVersion({ group, version: name }),
        scale?.specReplicasPath.split('.').slice(1),
      ]);
    return new ScaleHandler({
      entries: entriesOf(object),
      apiVersion: object.apiVersion,
      manager,
      replicasPaths: new Map(paths),
    });
  }
}

/** Whoever writes through one endpoint does not own what it ignores. */
const resetWithStatus: Readonly<Record<string, ResetFields>> = {
  '': { reset: [['status']] },
  status: { keep: [['status']] },
};

/** The field types of a model's served versions by apiVersion, computed when they are first needed. */
export function fieldTypesOf({ group, versions }: Model): () => ReadonlyMap<string, TypeSchema> {
  let types: ReadonlyMap<string, TypeSchema> | undefined;
  return () => {
    types ??= new Map(
      versions
        .filter(({ served }) => served)
        .map(({ name, schema }) => [formatApiVersion({ group, version: name }), newTypeSchema(schema)]),
    );
    return types;
  };
}

function managerOfScale(): FieldManager {
  scaleManager ??= new FieldManager({ versions: new Map([[scaleApiVersion, newScaleSchema()]]) });
  return scaleManager;
}

/** The Scale of an object, with the entries that own its replicas. */
function* scaleWith(handler: ScaleHandler, object: JsonApiObject, paths: ScaleSubresource): SlicedWork<JsonApiObject> {
  const scale = trackedScale(object, paths);
  const managedFields = yield* handler.convertingToScale();
  if (managedFields.length > 0) scale.metadata.managedFields = managedFields;
  return scale;
}

/** The Scale that an update is compared with. 0 replicas are absent, as in Go, so that nobody owns them. */
function trackedScale(object: JsonApiObject, paths: ScaleSubresource): JsonApiObject {
  const scale = scaleOf(object, paths) as JsonApiObject;
  const spec = scale['spec'] as JsonObject;
  if (spec['replicas'] === 0) delete spec['replicas'];
  return scale;
}

function entriesOf({ metadata: { managedFields = [] } }: JsonApiObject): ManagedFieldsEntry[] {
  return managedFields as ManagedFieldsEntry[];
}
