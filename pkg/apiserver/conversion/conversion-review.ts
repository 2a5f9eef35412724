import {
  decodeJsonInTurns,
  encodeJson,
  isJsonObject,
  isStatusError,
  validateObjectMeta,
  type JsonObject,
  type JsonValue,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { JsonApiObject } from '../rest/strategy.ts';

/** A ConversionReview of apiextensions.k8s.io/v1, for objects of one kind. */
export interface ConversionReview {
  /** Of the request; the answer repeats it. */
  uid: string;
  /** `tekton.dev/v1` */
  desiredAPIVersion: string;
  objects: readonly JsonApiObject[];
}

/** An answer that breaks a rule; the message names the rule and is the end of `conversion webhook for ...`. */
export class WrongConversion extends Error {}

const apiVersion = 'apiextensions.k8s.io/v1';
/** Characters of the webhook's own message, and of a value of it, that a client gets to see. */
const maxMessage = 1024;
const maxShown = 128;

export function encodeReview({ uid, desiredAPIVersion, objects }: ConversionReview): string {
  return encodeJson({ apiVersion, kind: 'ConversionReview', request: { uid, desiredAPIVersion, objects } });
}

/**
 * The converted objects, in the order of the review. Their metadata is that of the objects sent, but for labels and
 * annotations. Source of rules and texts: k8s.io/apiextensions-apiserver, webhook_converter.go.
 * @throws WrongConversion; abortError once the signal aborts
 */
export async function decodeConverted(
  bytes: Buffer,
  { uid, desiredAPIVersion, objects }: ConversionReview,
  signal?: AbortSignal,
): Promise<JsonApiObject[]> {
  const converted = convertedObjects(parse(bytes), uid);
  if (converted.length !== objects.length)
    throw new WrongConversion(`returned ${converted.length} objects, expected ${objects.length}`);
  const result: JsonApiObject[] = [];
  for (const [index, original] of objects.entries()) {
    const at = objects.length === 1 ? '' : ` at index ${index}`;
    const object = await readObject(converted[index]!, at, signal);
    checkIdentity(object, original, { desiredAPIVersion, at });
    result.push(withMetadataOf(original, object, at));
  }
  return result;
}

function parse(bytes: Buffer): JsonValue {
  try {
    return JSON.parse(bytes.toString('utf8')) as JsonValue;
  } catch {
    throw new WrongConversion('failed: the answer is not valid JSON');
  }
}

function convertedObjects(review: JsonValue, uid: string): JsonValue[] {
  const { apiVersion: version, kind, response } = isJsonObject(review) ? review : {};
  if (version !== apiVersion || kind !== 'ConversionReview')
    throw new WrongConversion(
      `failed: expected webhook response of ${apiVersion}, Kind=ConversionReview, got ${shown(version)}, Kind=${shown(kind)}`,
    );
  if (!isJsonObject(response)) throw new WrongConversion('failed: no response provided');
  if (response['uid'] !== uid)
    throw new WrongConversion(`failed: expected response.uid="${uid}", got "${shown(response['uid'])}"`);
  const { status, message } = isJsonObject(response['result']) ? response['result'] : {};
  if (status !== 'Success')
    throw new WrongConversion(
      typeof message === 'string' && message !== ''
        ? `failed: ${message.slice(0, maxMessage)}`
        : `failed: response.result.status was '${shown(status)}', not 'Success'`,
    );
  const objects = response['convertedObjects'] ?? [];
  if (!Array.isArray(objects)) throw new WrongConversion('failed: response.convertedObjects is not a list');
  return objects;
}

/** What the server accepts in a request's body, it accepts from a webhook, and no more. */
async function readObject(value: JsonValue, at: string, signal: AbortSignal | undefined): Promise<JsonObject> {
  let object: JsonValue;
  try {
    object = (await decodeJsonInTurns(Buffer.from(encodeJson(value) ?? ''), signal)).value;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    // RangeError: too deep to be encoded.
    if (!isStatusError(error) && !(error instanceof RangeError)) throw error;
    throw new WrongConversion(`returned invalid converted object${at}: ${reasonOf(error)}`);
  }
  if (!isJsonObject(object)) throw new WrongConversion(`returned invalid converted object${at}: it is not an object`);
  return object;
}

function reasonOf(error: StatusError | RangeError): string {
  return isStatusError(error) ? error.message.slice(0, maxMessage) : 'it is nested too deeply';
}

function checkIdentity(
  object: JsonObject,
  original: JsonApiObject,
  { desiredAPIVersion, at }: { desiredAPIVersion: string; at: string },
): void {
  const invalid = `returned invalid converted object${at}`;
  if (object['apiVersion'] !== desiredAPIVersion)
    throw new WrongConversion(
      `${invalid}: invalid groupVersion (expected ${desiredAPIVersion}, received ${shown(object['apiVersion'])})`,
    );
  if (object['kind'] !== original.kind)
    throw new WrongConversion(
      `${invalid}: invalid kind (expected ${original.kind}, received ${shown(object['kind'])})`,
    );
  const { metadata } = object;
  if (!isJsonObject(metadata))
    throw new WrongConversion(
      `returned invalid metadata${at === '' ? '' : ` in object${at}`}: missing metadata in converted object`,
    );
  for (const [field, name] of identity) {
    const [expected, found] = [original.metadata[field] ?? '', metadata[field] ?? ''];
    if (expected !== found)
      throw new WrongConversion(`${invalid}: must have the same ${name}: ${expected} != ${shown(found)}`);
  }
}

const identity = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

function withMetadataOf(original: JsonApiObject, object: JsonObject, at: string): JsonApiObject {
  const { apiVersion: version, kind, metadata: converted, ...rest } = object;
  const { labels: _labels, annotations: _annotations, ...metadata } = original.metadata as unknown as JsonObject;
  for (const field of ['labels', 'annotations']) {
    const value = (converted as JsonObject)[field] ?? undefined;
    if (value === undefined) continue;
    if (!isJsonObject(value) || Object.values(value).some((text) => typeof text !== 'string'))
      throw new WrongConversion(
        `returned invalid metadata${at === '' ? '' : ` in object${at}`}: metadata.${field} must be a map of strings`,
      );
    metadata[field] = value;
  }
  const { name, labels, annotations } = metadata;
  const wanted = {
    name,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  const cause = validateObjectMeta(wanted, { nameRule: 'path-segment', namespaced: false }).causes.find(({ field }) =>
    /^metadata\.(labels|annotations)/.test(field ?? ''),
  );
  if (cause !== undefined)
    throw new WrongConversion(
      `returned invalid metadata${at === '' ? '' : ` in object${at}`}: ${cause.field}: ${cause.message.slice(0, maxMessage)}`,
    );
  return { apiVersion: version, kind, metadata, ...rest } as unknown as JsonApiObject;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value.slice(0, maxShown) : typeof value;
}
