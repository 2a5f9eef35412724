import {
  equalJson,
  formatGroupResource,
  groupResource,
  type GroupResource,
  type JsonObject,
  type Model,
} from '#pkg/apimachinery/index';
import { isDefinition, isEstablished, modelFromDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import type { Logger } from 'pino';
import { validateStructuralSchema } from '../../schema/structural/structural-schema.ts';
import { isTerminating } from '../definition/definition-conditions.ts';
import { ServedModel, type SharedServing } from './served-model.ts';
import type { Strategy } from '../../rest/strategy.ts';

/** The currently served models, by group and plural. */
export class ModelTable {
  readonly #shared: SharedServing;
  readonly #log: Logger;
  readonly #served = new Map<string, ServedModel>();
  #changes = 0;

  constructor(shared: SharedServing, log: Logger) {
    this.#shared = shared;
    this.#log = log;
  }

  /** Increases with every change. */
  get generation(): number {
    return this.#changes;
  }

  get(resource: GroupResource): ServedModel | undefined {
    return this.#served.get(formatGroupResource(resource));
  }

  all(): ServedModel[] {
    return [...this.#served.values()];
  }

  addBuiltin(model: Model, strategy: Strategy): void {
    this.#put(new ServedModel({ shared: this.#shared, model, strategy, fromDefinition: false, terminating: false }));
  }

  /**
   * Serves the current form of a definition. A definition that cannot be served is logged, and serves nothing. Checks
   * the schemas, which takes long, unless the definition was `judged` before it was stored.
   */
  apply(definition: CustomResourceDefinition, { judged = false }: { judged?: boolean } = {}): void {
    const { name } = definition.metadata;
    const present = this.#served.get(name);
    // A definition that clashes with a built-in model is never established: the built-in model always stays.
    if (present?.fromDefinition === false) return;
    const model = this.#modelOf(definition, judged);
    if (model === undefined) {
      this.remove(name);
      return;
    }
    const terminating = isTerminating(definition);
    if (present !== undefined && equalJson(present.model as unknown as JsonObject, model as unknown as JsonObject)) {
      if (terminating && !present.terminating) this.#terminate(present);
      return;
    }
    this.#put(
      new ServedModel({
        shared: this.#shared,
        model,
        fromDefinition: true,
        terminating,
        ...(present === undefined ? {} : { predecessor: present }),
      }),
    );
    present?.retire('the definition of this resource was changed');
  }

  /** Removes a definition's model, by the definition's name. */
  remove(name: string): void {
    const present = this.#served.get(name);
    if (present?.fromDefinition !== true) return;
    this.#served.delete(name);
    this.#changes += 1;
    present.retire('this resource is no longer served');
  }

  #put(served: ServedModel): void {
    this.#served.set(formatGroupResource(served.resource), served);
    this.#changes += 1;
  }

  #terminate(served: ServedModel): void {
    served.terminate();
    this.#changes += 1;
  }

  #modelOf(definition: CustomResourceDefinition, judged: boolean): Model | undefined {
    const { name } = definition.metadata;
    try {
      if (!isDefinition(definition)) throw new Error('the object does not have the shape of a definition');
      if (!isEstablished(definition)) return undefined;
      const model = modelFromDefinition(definition);
      if (formatGroupResource(groupResource(model)) !== name) throw new Error('its name is not <plural>.<group>');
      if (!judged) this.#checkSchemas(model);
      return model;
    } catch (error) {
      this.#log.error({ err: error, definition: name }, 'a stored definition cannot be served');
      return undefined;
    }
  }

  /** Skips schemas that are already served. */
  #checkSchemas(model: Model): void {
    const present = this.get(groupResource(model))?.model.versions ?? [];
    for (const { name, schema } of model.versions) {
      const known = present.find((version) => version.name === name)?.schema;
      if (known !== undefined && equalJson(known as unknown as JsonObject, schema as unknown as JsonObject)) continue;
      const [cause] = validateStructuralSchema(schema, `spec.versions[${name}].schema`);
      if (cause !== undefined) throw new Error(`${cause.field}: ${cause.message}`);
    }
  }
}
