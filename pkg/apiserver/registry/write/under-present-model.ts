import {
  formatGroupResource,
  groupResource,
  newServiceUnavailable,
  newUnknownPath,
  type ApiObject,
  type JsonObject,
} from '#pkg/apimachinery/index';
import { definitionModel, isDefinition, isEstablished, modelFromDefinition } from '#pkg/apis/index';
import { equalJson } from '../../schema/json-value.ts';
import type { ModelContext } from '../model/model-context.ts';
import { VersionCodec } from '../model/version-codec.ts';

/** Definitions one write is validated under, each changed meanwhile. */
const maxModels = 10;

/** Validated under a definition that is another now. */
class ModelChanged extends Error {
  readonly present: ModelContext;

  constructor(present: ModelContext) {
    super('the definition of this resource was changed');
    this.present = present;
  }
}

/**
 * Runs a write, and once more from the start under the new definition where `checkPresent` finds that it was changed
 * meanwhile: what was valid only before must not be stored after the change was acknowledged.
 * @throws StatusError 404 where the resource is no longer served, 503 where its definition keeps changing.
 */
export async function underPresentModel<T>(
  context: ModelContext,
  write: (present: ModelContext) => Promise<T>,
): Promise<T> {
  let present = context;
  for (let models = 0; models < maxModels; models += 1) {
    try {
      return await write(present);
    } catch (error) {
      if (!(error instanceof ModelChanged)) throw error;
      present = error.present;
    }
  }
  throw newServiceUnavailable('the definition of this resource keeps changing: try again later');
}

/**
 * To be called right before the store writes. Free as long as the model is the served one; else the stored definition
 * decides.
 */
export async function checkPresent(context: ModelContext): Promise<void> {
  if (context.watches.endReason === undefined) return;
  const present = await presentContext(context);
  if (!equalJson(present.model as unknown as JsonObject, context.model as unknown as JsonObject))
    throw new ModelChanged(present);
}

async function presentContext(context: ModelContext): Promise<ModelContext> {
  const stored = await context.store.get(groupResource(definitionModel), {
    namespace: '',
    name: formatGroupResource(context.resource),
  });
  if (stored === undefined) throw newUnknownPath();
  const definition = JSON.parse(stored.body) as ApiObject;
  if (!isDefinition(definition) || !isEstablished(definition)) throw newUnknownPath();
  const model = modelFromDefinition(definition);
  const version = model.versions.find(({ name, served }) => served && name === context.version.name);
  if (version === undefined) throw newUnknownPath();
  return { ...context, model, version, codec: new VersionCodec(model, version) };
}
