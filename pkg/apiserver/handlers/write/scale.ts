import type { JsonObject, ScaleSubresource } from '#pkg/apimachinery/index';
import { objectFormat } from '../answer/answer-format.ts';
import type { ObjectView } from '../answer/answer-object.ts';
import { scaleTable } from '../../table/builtin-tables.ts';
import { get } from '../read/get.ts';
import { checkKey, checkTypeMeta, dropInheritedRevision, setMissingTypeMeta } from '../request/object-identity.ts';
import { applyPatchType, runApply } from './apply.ts';
import { patchOf, patchTypesOf, readPatch } from './patch.ts';
import { decodeObject, readObjectBody } from '../request/request-body.ts';
import { requestedKey, type ResourceRequest } from '../request/resource-request.ts';
import { runUpdate } from './update.ts';
import { scaled, scaleKind, scaleOf, scaleText } from '../../rest/scale-object.ts';
import { parseWriteOptions } from './write-options.ts';

/** GET of an object's scale. */
export function getScale(request: ResourceRequest, paths: ScaleSubresource): Promise<void> {
  return get(request, scaleView(paths));
}

/** PUT of an object's scale: changes only its desired replicas. */
export async function updateScale(request: ResourceRequest, paths: ScaleSubresource): Promise<void> {
  const format = objectFormat(request.context);
  const options = parseWriteOptions(request.context.query, 'UpdateOptions');
  const body = await readObjectBody(request);
  await runUpdate(request, {
    subresource: '',
    scale: paths,
    format,
    options,
    bytes: body.bytes,
    view: scaleView(paths),
    prepare: async (write) => {
      const scale = await decodeObject(body, write);
      checkScale(scale, request);
      return (current) => scaled(current, scale, paths);
    },
  });
}

/** PATCH of an object's scale; the patch applies to the Scale, not to the object. */
export async function patchScale(request: ResourceRequest, paths: ScaleSubresource): Promise<void> {
  const format = objectFormat(request.context);
  const options = parseWriteOptions(request.context.query, 'PatchOptions');
  const body = await readPatch(request, options, patchTypesOf());
  const view = scaleView(paths);
  if (body.type === applyPatchType)
    return runApply(request, { subresource: '', scale: paths, format, options, body, view });
  await runUpdate(request, {
    subresource: '',
    scale: paths,
    format,
    options,
    bytes: body.bytes,
    view,
    prepare: async (write) => {
      const apply = await patchOf(body, write);
      return (current) => {
        const scale = apply(scaleOf(current, paths));
        checkScale(scale, request);
        dropInheritedRevision(scale, current);
        return scaled(current, scale, paths);
      };
    },
  });
}

function checkScale(scale: JsonObject, request: ResourceRequest): void {
  setMissingTypeMeta(scale, scaleKind);
  checkTypeMeta(scale, scaleKind);
  checkKey(scale, requestedKey(request));
}

function scaleView(paths: ScaleSubresource): ObjectView {
  return { show: (object) => scaleText(object, paths), columns: scaleTable };
}
