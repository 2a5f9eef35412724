import { isStatusError, newConflict, runInTurns } from '#pkg/apimachinery/index';
import { hasNull } from '../../schema/json-value.ts';
import { scaled, scaleOf } from '../../rest/scale-object.ts';
import type { ApplyRequest } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import type { ModelContext } from '../model/model-context.ts';
import { ObjectWrite } from './object-write.ts';
import { runIdempotentWrite } from './write-steps.ts';

/** Attempts while others create and delete the object. */
const maxAttempts = 5;

/** Applies a configuration to the object, or creates it. The write's type says which. @throws StatusError */
export async function applyConfiguration(
  model: ModelContext,
  request: ApplyRequest,
  context: WriteContext,
): Promise<ObjectWrite> {
  for (let attempt = 1; ; attempt += 1) {
    const update = updateOf(model, request, context);
    try {
      await runIdempotentWrite(update);
      return update;
    } catch (error) {
      if (request.authorizeCreate === undefined || !isStatusError(error, 'NotFound')) throw error;
    }
    await request.authorizeCreate();
    const create = await createOf(model, request, context);
    try {
      await runIdempotentWrite(create);
      return create;
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists') || attempt === maxAttempts) throw error;
    }
  }
}

function updateOf(model: ModelContext, request: ApplyRequest, context: WriteContext): ObjectWrite {
  const { key, subresource, scale, preconditions } = request;
  const write: ObjectWrite = new ObjectWrite(model, context, {
    verb: 'update',
    key,
    subresource,
    isApplied: true,
    appliesNull: appliesNull(request.config),
    preconditions,
    // The model may be replaced by a newer one before a new attempt.
    transform: (current) =>
      scale === undefined ? applied(write, current, request) : appliedToScale(write, current, request),
  });
  return write;
}

async function applied(
  { model, context, conversions }: ObjectWrite,
  current: JsonApiObject,
  request: ApplyRequest,
): Promise<JsonApiObject> {
  const { config, force, subresource, check } = request;
  const { fieldManager: manager, signal } = context;
  const convert = conversions?.convert;
  const applying = model.fields.applying(current, config, { manager, force, subresource, convert });
  const object = await runInTurns(applying, { signal });
  // Absent would mean those of the stored object.
  object.metadata.managedFields ??= [];
  check(object, current);
  return object;
}

async function appliedToScale(
  { model, context }: ObjectWrite,
  current: JsonApiObject,
  request: ApplyRequest,
): Promise<JsonApiObject> {
  const { config, force, check } = request;
  const paths = request.scale!;
  const { fieldManager: manager, signal } = context;
  const applying = model.fields.applyingScale(current, config, { manager, force, paths });
  const { scale, managedFields } = await runInTurns(applying, { signal });
  check(scale, scaleOf(current, paths) as JsonApiObject);
  const object = scaled(current, scale, paths) as JsonApiObject;
  object.metadata.managedFields = managedFields;
  return object;
}

/** @throws StatusError 409 if the configuration is for an object that existed */
async function createOf(model: ModelContext, request: ApplyRequest, context: WriteContext): Promise<ObjectWrite> {
  const { key, config, force, check } = request;
  const { fieldManager: manager, signal } = context;
  const applying = model.fields.applying(undefined, config, { manager, force, subresource: '' });
  const object = await runInTurns(applying, { signal });
  const { uid = '', resourceVersion = '' } = object.metadata;
  if (uid !== '') {
    const reason = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw newConflict(model.resource, key.name, reason);
  }
  if (resourceVersion !== '')
    throw newConflict(
      model.resource,
      key.name,
      'the provided object specified a resourceVersion, and no existing object was found',
    );
  check(object, undefined);
  return new ObjectWrite(model, context, {
    verb: 'create',
    namespace: key.namespace,
    body: object,
    isApplied: true,
    appliesNull: appliesNull(config),
  });
}

/** A null of metadata is absence: `creationTimestamp: null`, for example, which programs in Go write. */
function appliesNull(configuration: JsonApiObject): boolean {
  const { metadata: _, ...content } = configuration;
  return hasNull(content);
}
