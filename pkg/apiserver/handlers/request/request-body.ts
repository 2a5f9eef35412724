import {
  decodeJsonInTurns,
  decodeYamlInTurns,
  isJsonObject,
  newBadRequest,
  type DecodeResult,
  type JsonObject,
} from '#pkg/apimachinery/index';
import { parseContentType, readBody, type RequestBytes } from '#pkg/http/index';
import { decodeProtobuf, protobufType, type MessageFields } from '../../protobuf/decode-protobuf.ts';
import { deleteOptionsFields, protobufFieldsOf } from '../../protobuf/kind-fields.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import type { ResourceRequest } from './resource-request.ts';

const objectTypes = ['application/json', 'application/yaml', 'text/yaml'] as const;

/** A raw body and its format. Each use decodes it again, so that no use sees the changes of another. */
export interface RawBody {
  bytes: Buffer;
  isYaml: boolean;
  /** The fields to read of a body in protobuf. */
  protobuf?: MessageFields | undefined;
  /** The memory of the request: a large body is parsed only once its memory is reserved. */
  memory: Pick<RequestBytes, 'parse'>;
}

/** Reads the body of an object, which may be protobuf for some built-in kinds. @throws StatusError 400, 408, 413, 415 */
export function readObjectBody(request: ResourceRequest): Promise<RawBody> {
  const { model, version } = request.served;
  return readBodyOf(request, protobufFieldsOf(model, version));
}

/** Reads the body of DeleteOptions, in the same formats. @throws StatusError 400, 408, 413, 415 */
export function readOptionsBody(request: ResourceRequest): Promise<RawBody> {
  const { model, version } = request.served;
  return readBodyOf(request, protobufFieldsOf(model, version) === undefined ? undefined : deleteOptionsFields);
}

async function readBodyOf(request: ResourceRequest, fields: MessageFields | undefined): Promise<RawBody> {
  if (fields === undefined) return readTypedBody(request, objectTypes);
  const body = await readTypedBody(request, [...objectTypes, protobufType]);
  return body.type === protobufType ? { ...body, protobuf: fields } : body;
}

/** A body without Content-Type is read as the first accepted type. @throws StatusError 400, 408, 413, 415 */
export async function readTypedBody(
  { context, options }: ResourceRequest,
  accepted: readonly [string, ...string[]],
): Promise<RawBody & { type: string }> {
  const { type } = parseContentType(context.request.headers['content-type'], accepted);
  const bytes = await readBody(context, { maxBytes: options.bodyLimit, timeoutMs: options.bodyTimeoutMs });
  return { bytes, type, isYaml: /[/+]yaml$/.test(type), memory: context.bytes };
}

/**
 * @throws StatusError 400 for an empty body and for one that is not of its format; the signal's StatusError, or 504,
 * once the request is aborted
 */
export async function decode(
  { bytes, isYaml, protobuf, memory }: RawBody,
  signal?: AbortSignal,
): Promise<DecodeResult> {
  if (bytes.length === 0) throw newBadRequest('the body of the request is empty');
  await memory.parse(bytes.length);
  if (protobuf !== undefined) return { value: decodeProtobuf(bytes, protobuf), duplicates: [], dropped: [] };
  return isYaml ? decodeYamlInTurns(bytes, signal) : decodeJsonInTurns(bytes, signal);
}

/** The body as an object; see `noteFindings`. */
export async function decodeObject(body: RawBody, write: WriteContext): Promise<JsonObject> {
  const decoded = await decode(body, write.signal);
  noteFindings(decoded, write);
  if (!isJsonObject(decoded.value)) throw newBadRequest('the body of the request must be an object');
  if (write.requestAudit !== undefined) write.requestAudit.requestObject = decoded.value;
  return decoded.value;
}

/** Records duplicate and dropped keys. They are reported together with the fields unknown to the schema. */
export function noteFindings({ duplicates, dropped }: DecodeResult, { findings }: WriteContext): void {
  // A body is decoded again for each attempt.
  findings.length = 0;
  findings.push(
    ...duplicates.map((path) => `duplicate field "${path}"`),
    ...dropped.map((path) => `unknown field "${path}"`),
  );
}
