import { encodeYaml, newNotAcceptable, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { negotiate, type RequestContext } from '#pkg/http/index';

/** The form of objects in a response: whole, or metadata only. Source: metav1.PartialObjectMetadata. */
export type Projection = 'whole' | 'metadata';

/** The response format that the client asked for. Bodies stay JSON text and are parsed only for another format. */
export interface AnswerFormat {
  type: 'application/json' | 'application/yaml';
  projection: Projection;
}

const whole = [
  { type: 'application/json', projection: 'whole' },
  { type: 'application/yaml', projection: 'whole' },
] as const;
const listOffers = [...whole, metadataOffer('PartialObjectMetadataList'), metadataOffer('PartialObjectMetadata')];
const objectOffers = [...whole, metadataOffer('PartialObjectMetadata')];

/** Call it before anything is written. @throws StatusError 406 */
export function objectFormat(context: RequestContext): AnswerFormat {
  return negotiated(context, objectOffers);
}

/** @throws StatusError 406 */
export function listFormat(context: RequestContext): AnswerFormat {
  return negotiated(context, listOffers);
}

/** Converts one object's JSON text to the response format. */
export function encodeObject({ type, projection }: AnswerFormat, text: string): string {
  const shown = projection === 'metadata' ? metadataText(text) : text;
  return type === 'application/json' ? shown : encodeYaml(JSON.parse(shown) as JsonValue);
}

export function encodeValue({ type }: AnswerFormat, value: JsonValue): string {
  return type === 'application/json' ? JSON.stringify(value) : encodeYaml(value);
}

/** An object as PartialObjectMetadata. */
export function metadataText(text: string): string {
  const { metadata } = JSON.parse(text) as JsonObject;
  return JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
}

function metadataOffer(as: string) {
  return { type: 'application/json', parameters: { as, v: 'v1', g: 'meta.k8s.io' }, projection: 'metadata' } as const;
}

function negotiated<T extends AnswerFormat>({ request }: RequestContext, offers: readonly T[]): T {
  const found = negotiate(request.headers.accept, offers);
  if (found === undefined)
    throw newNotAcceptable(`only the following media types are accepted: ${whole.map(({ type }) => type).join(', ')}`);
  return found;
}
