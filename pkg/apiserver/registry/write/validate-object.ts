import {
  fieldError,
  newInvalid,
  runInTurns,
  validateObjectMeta,
  type ObjectMeta,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { isPersonalToken } from '#pkg/identity/index';
import { groupKind } from '../model/model-context.ts';
import type { ObjectWrite } from './object-write.ts';

/*
 * A failed validation is a StatusError 422 with one cause per field, from metadata, schema and Strategy together. An
 * invalid value that the update does not change is accepted. A write of `/status` validates only the status: an invalid
 * spec does not prevent it. Authorization comes as early as it can: once schema and Strategy have checked the fields
 * that it reads, and before the metadata. A user who may not write the content gets a 403, whatever the metadata.
 */

export function validateSchema(write: ObjectWrite): void | Promise<void> {
  if (isOfContent(write)) return validateContent(write);
  if (isOfStatus(write)) return validateStatus(write);
}

async function validateContent(write: ObjectWrite): Promise<void> {
  const { model, object, old, context } = write;
  refuseContent(write, await runInTurns(model.codec.validator.validating(object, old), { signal: context.signal }));
}

async function validateStatus(write: ObjectWrite): Promise<void> {
  const { model, object, old, context } = write;
  refuse(write, await runInTurns(model.codec.validator.validatingStatus(object, old), { signal: context.signal }));
}

/** Runs after the schema validation: a Strategy reads fields whose types must have been checked. */
export function validateByStrategy(write: ObjectWrite): void | Promise<void> {
  const { model, object, old, context } = write;
  if (!isOfContent(write)) return;
  return model.strategy.validate?.(object, old, context).then((causes) => refuseContent(write, causes));
}

/** Checks that the user may write this content. StatusError 403. */
export function authorizeContent(write: ObjectWrite): void | Promise<void> {
  const { model, object, old, context } = write;
  if (isOfContent(write)) return model.strategy.authorize?.(object, old, context);
}

export function validateMetadata(write: ObjectWrite): void {
  if (!isOfContent(write)) return;
  const { causes, warnings } = metadataFindings(write);
  refuse(write, causes);
  for (const warning of warnings) write.context.warn(warning);
  if (write.old !== undefined) refuse(write, newFinalizerCauses(write.object.metadata, write.old.metadata));
}

function isOfStatus({ request }: ObjectWrite): boolean {
  return request.verb === 'update' && request.subresource === 'status';
}

function isOfContent(write: ObjectWrite): boolean {
  return write.request.verb !== 'delete' && !isOfStatus(write);
}

function metadataFindings({ model: { model }, object, old }: ObjectWrite): ReturnType<typeof validateObjectMeta> {
  return validateObjectMeta(object.metadata, {
    nameRule: model.nameRule,
    namespaced: model.scope === 'Namespaced',
    isCredential: isPersonalToken,
    old: old?.metadata,
  });
}

function refuseContent(write: ObjectWrite, causes: readonly StatusCause[]): void {
  if (causes.length > 0) refuse(write, [...metadataFindings(write).causes, ...causes]);
}

function refuse({ model, object }: ObjectWrite, causes: readonly StatusCause[]): void {
  if (causes.length > 0) throw newInvalid(groupKind(model), object.metadata.name ?? '', causes);
}

function newFinalizerCauses(meta: ObjectMeta, old: ObjectMeta): ReturnType<typeof fieldError.forbidden>[] {
  if (old.deletionTimestamp === undefined) return [];
  const added = (meta.finalizers ?? []).filter((finalizer) => old.finalizers?.includes(finalizer) !== true);
  if (added.length === 0) return [];
  const shown = JSON.stringify(added).slice(0, 200);
  return [
    fieldError.forbidden(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`,
    ),
  ];
}
