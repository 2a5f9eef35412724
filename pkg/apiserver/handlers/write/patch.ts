import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicMergePatch,
  fieldError,
  isJsonObject,
  newBadRequest,
  newUnsupportedMediaType,
  type JsonObject,
  type JsonValue,
  type ListMergeKeys,
  type Model,
  type Patch,
} from '#pkg/apimachinery/index';
import type { WriteContext } from '../../rest/write-context.ts';
import { objectFormat } from '../answer/answer-format.ts';
import { checkKey, checkServedKind, dropInheritedRevision } from '../request/object-identity.ts';
import { decode, noteFindings, readTypedBody, type RawBody } from '../request/request-body.ts';
import { requestedKey, type ResourceRequest } from '../request/resource-request.ts';
import { applyPatchType, checkApplyOptions, runApply } from './apply.ts';
import { runUpdate } from './update.ts';
import { newInvalidOptions, parseWriteOptions, type WriteParameters } from './write-options.ts';

/** The media types of the patches of Client. */
export const patchMediaTypes: Readonly<Record<Patch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** Media types of patches. */
export type PatchTypes = readonly [string, ...string[]];

/**
 * The patches that objects of a model take. Only kinds that say how their lists merge take a strategic merge patch; a
 * Scale takes none.
 */
export function patchTypesOf({ listMergeKeys }: Pick<Model, 'listMergeKeys'> = {}): PatchTypes {
  const { json, merge, strategic } = patchMediaTypes;
  return [json, merge, ...(listMergeKeys === undefined ? [] : [strategic]), applyPatchType];
}

/**
 * PATCH of one object, or of its status; of the object itself, an apply patch may create it.
 */
export async function patch(request: ResourceRequest, subresource: '' | 'status' = ''): Promise<void> {
  const format = objectFormat(request.context);
  const options = parseWriteOptions(request.context.query, 'PatchOptions');
  const { model } = request.served;
  const body = await readPatch(request, options, patchTypesOf(model));
  if (body.type === applyPatchType) return runApply(request, { subresource, format, options, body });
  await runUpdate(request, {
    subresource,
    format,
    options,
    bytes: body.bytes,
    prepare: async (write) => {
      const apply = await patchOf(body, write, model.listMergeKeys);
      return (current) => {
        const patched = apply(current);
        checkServedKind(patched, request.served);
        checkKey(patched, requestedKey(request));
        dropInheritedRevision(patched, current);
        return patched;
      };
    },
  });
}

export type PatchBody = RawBody & { type: string };

/**
 * `force` is valid only for an apply patch, with any value, and such a patch needs a field manager. Source:
 * k8s.io/apimachinery ValidatePatchOptions.
 * @throws StatusError 415 for any other kind of patch, and for a body without a Content-Type; 422 for `force`, and
 * without a field manager.
 */
export async function readPatch(
  request: ResourceRequest,
  options: WriteParameters,
  accepted: PatchTypes,
): Promise<PatchBody> {
  const { query, request: message } = request.context;
  if (message.headers['content-type'] === undefined) throw newUnsupportedMediaType(accepted);
  const body = await readTypedBody(request, accepted);
  if (body.type === applyPatchType) checkApplyOptions(options);
  else if (query.has('force'))
    throw newInvalidOptions('PatchOptions', [
      fieldError.forbidden('force', 'may not be specified for non-apply patch'),
    ]);
  return body;
}

/**
 * Returns the patch as a function that does not modify its argument. @throws StatusError 400 for a body that is no
 * patch.
 */
export async function patchOf(
  body: PatchBody,
  write: WriteContext,
  listMergeKeys?: ListMergeKeys,
): Promise<(current: JsonObject) => JsonObject> {
  const decoded = await decode(body, write.signal);
  noteFindings(decoded, write);
  if (write.requestAudit !== undefined) write.requestAudit.requestObject = decoded.value;
  return patchFunction(body.type, decoded.value, listMergeKeys);
}

/**
 * A patch of a media type of `patchMediaTypes` as a function that does not modify its argument. @throws StatusError 400 for a
 * value that is no patch, 415 for a strategic merge patch of a kind that does not say how its lists merge
 */
export function patchFunction(
  type: string,
  change: JsonValue,
  listMergeKeys: ListMergeKeys | undefined,
): (current: JsonObject) => JsonObject {
  if (type === patchMediaTypes.strategic && listMergeKeys === undefined) throw newUnsupportedMediaType(patchTypesOf());
  if (type === patchMediaTypes.merge && !isJsonObject(change)) throw newBadRequest('a merge patch must be an object');
  if (type === patchMediaTypes.json && !Array.isArray(change))
    throw newBadRequest('a JSON patch must be an array of operations');
  return (current) => {
    const patched = patchedBy(current, change, { type, listMergeKeys: listMergeKeys ?? {} });
    if (!isJsonObject(patched)) throw newBadRequest('the result of the patch must be an object');
    return patched;
  };
}

function patchedBy(
  current: JsonObject,
  change: JsonValue,
  { type, listMergeKeys }: { type: string; listMergeKeys: ListMergeKeys },
): JsonValue {
  if (type === patchMediaTypes.json) return applyJsonPatch(current, change);
  if (type === patchMediaTypes.strategic) return applyStrategicMergePatch(current, change, listMergeKeys);
  return applyMergePatch(current, change);
}
