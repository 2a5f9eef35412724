import { decodeJson, decodeYaml, isJsonObject, newBadRequest, type DecodeResult, type GroupVersionKind, type JsonObject } from '#pkg/apimachinery/index';
import { parseContentType, readBody } from '#pkg/http/index';
import type { WriteContext } from '../registry/served-resource.ts';
import { kindOf, type ResourceRequest } from './resource-request.ts';

const objectTypes = ['application/json', 'application/yaml', 'text/yaml'] as const;

/** A body as it came, and what it is in: decoded once a use, so that nobody sees another's changes. */
export interface RawBody {
  bytes: Buffer;
  isYaml: boolean;
}

/** Reads the body that an object, or the options of a DELETE, come in. @throws StatusError 400, 408, 413, 415 */
export function readObjectBody(request: ResourceRequest): Promise<RawBody> {
  return readTypedBody(request, objectTypes);
}

/** A body without Content-Type is of the first type. @throws StatusError 400, 408, 413, 415 */
export async function readTypedBody({ context, options }: ResourceRequest, accepted: readonly [string, ...string[]]): Promise<RawBody & { type: string }> {
  const { type } = parseContentType(context.request.headers['content-type'], accepted);
  const bytes = await readBody(context, { limit: options.bodyLimit, timeoutMs: options.bodyTimeoutMs });
  return { bytes, type, isYaml: type.endsWith('/yaml') };
}

/** @throws StatusError 400 for an empty body and for one that is not JSON or YAML */
export function decode({ bytes, isYaml }: RawBody): DecodeResult {
  if (bytes.length === 0) throw newBadRequest('the body of the request is empty');
  return isYaml ? decodeYaml(bytes) : decodeJson(bytes);
}

/** The body as an object of the request's kind; see `checkTypeMeta`. Duplicate and unusable keys are told as `fieldValidation` says. */
export function decodeObject(request: ResourceRequest, body: RawBody, write: WriteContext): JsonObject {
  const kind = kindOf(request.served);
  const decoded = decode(body);
  reportFindings(decoded, kind, write);
  if (!isJsonObject(decoded.value)) throw newBadRequest('the body of the request must be an object');
  return decoded.value;
}

/** Keys given twice and keys left out: a 400 under Strict, warnings under Warn. */
export function reportFindings({ duplicates, dropped }: DecodeResult, kind: GroupVersionKind, write: WriteContext): void {
  const findings = [...duplicates.map((path) => `duplicate field "${path}"`), ...dropped.map((path) => `unknown field "${path}"`)];
  if (findings.length === 0 || write.fieldValidation === 'Ignore') return;
  if (write.fieldValidation === 'Strict') {
    throw newBadRequest(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: strict decoding error: ${findings.join(', ')}`);
  }
  for (const finding of findings) write.warn(finding);
}
