import { decodeJson, isJsonObject, newBadRequest, newInvalid, type GroupVersionKind } from '#pkg/apimachinery/index';
import { streamModel } from '#pkg/apis/index';
import { parseContentType, readBody, type RequestContext } from '#pkg/http/index';
import { checkTypeMeta, setMissingTypeMeta } from '../handlers/request/object-identity.ts';
import { compileSchemaValidator } from '../schema/schema-validator.ts';

const bodyLimit = 64 << 10;
const [version] = streamModel.versions;
const validator = compileSchemaValidator(version!.schema);
const kind: GroupVersionKind = { group: streamModel.group, version: version!.name, kind: streamModel.names.kind };

/** One watch of a stream. */
export interface Subscription {
  id: string;
  group?: string;
  version: string;
  resource: string;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  initialEvents?: boolean;
}

export interface StreamRequest {
  since?: string;
  subscriptions: Subscription[];
}

/** @throws StatusError 400, 408, 413, 415, 422: a field that is unknown would widen what is watched, so it is refused */
export async function readStream(context: RequestContext): Promise<StreamRequest> {
  parseContentType(context.request.headers['content-type'], ['application/json']);
  const bytes = await readBody(context, { maxBytes: bodyLimit });
  if (bytes.length === 0) throw newBadRequest('the body of the request is empty');
  await context.bytes.parse(bytes.length);
  const { value, duplicates } = decodeJson(bytes);
  if (!isJsonObject(value)) throw newBadRequest('the body of the request must be an object');
  setMissingTypeMeta(value, kind);
  checkTypeMeta(value, kind);
  const findings = [
    ...duplicates.map((path) => `duplicate field "${path}"`),
    ...validator.prune(value).map((path) => `unknown field "${path}"`),
  ];
  if (findings.length > 0)
    throw newBadRequest(
      `Stream in version "${kind.version}" cannot be handled as a Stream: strict decoding error: ${findings.join(', ')}`,
    );
  validator.applyDefaults(value);
  const causes = validator.validate(value);
  if (causes.length > 0) throw newInvalid(kind, '', causes);
  return value as unknown as StreamRequest;
}
