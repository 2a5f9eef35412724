import { encodeYaml, newNotAcceptable, type JsonValue } from '#pkg/apimachinery/index';
import { negotiateClause, type AcceptClause, type RequestContext } from '#pkg/http/index';
import { withManagedFields } from '#pkg/storage/index';
import type { ObjectText } from '../../rest/served-resource.ts';
import type { TableColumns } from '../../table/column-definition.ts';
import { parseIncludeObject, tableText, tableVersions, type TableForm, type TableVersion } from './table-text.ts';
import { metadataText } from './partial-object.ts';

/** The encoding of a response. Bodies stay JSON text and are parsed only for another format. */
export type AnswerType = 'application/json' | 'application/yaml';

/** Which parts of an object a response has. */
export interface ObjectForm {
  /** Without managed fields. */
  dropsManaged: boolean;
}

/** Objects as they are, or metadata only. Source: metav1.PartialObjectMetadata. */
export interface PlainFormat extends ObjectForm {
  type: AnswerType;
  projection: 'whole' | 'metadata';
}

/** Objects as rows of a Table. Source: metav1.Table. */
export interface TableFormat extends ObjectForm {
  type: AnswerType;
  projection: 'table';
  table: TableForm;
}

/** The response format that the client asked for. */
export type AnswerFormat = PlainFormat | TableFormat;

type Offer = { type: AnswerType; parameters?: Readonly<Record<string, string>> } & (
  Pick<PlainFormat, 'projection'> | { projection: 'table'; version: TableVersion }
);

const whole = [
  { type: 'application/json', projection: 'whole' },
  { type: 'application/yaml', projection: 'whole' },
] as const;
const tables = tableVersions.flatMap((version) =>
  whole.map(({ type }) => ({
    type,
    parameters: { as: 'Table', v: version, g: 'meta.k8s.io' },
    projection: 'table' as const,
    version,
  })),
);
const plainOffers = [...whole, metadataOffer('PartialObjectMetadata')];
const objectOffers = [...plainOffers, ...tables];
const listOffers = [...objectOffers, metadataOffer('PartialObjectMetadataList')];

/**
 * Call it before anything is written. @throws StatusError 406, and 400 for parameters of a Table that are not valid
 */
export function objectFormat(context: RequestContext): AnswerFormat {
  return formatOf(context, negotiated(context, objectOffers));
}

/** @throws StatusError 406, and 400 for parameters of a Table that are not valid */
export function listFormat(context: RequestContext): AnswerFormat {
  return formatOf(context, negotiated(context, listOffers));
}

/** The format of an object that has no table. @throws StatusError 406 */
export function plainFormat(context: RequestContext): PlainFormat {
  return negotiated(context, plainOffers);
}

/**
 * Did the client ask to leave out managed fields, by `application/json;drop=metadata.managedFields`? Other values have no
 * effect. Source: KEP-5958.
 */
export function dropsManagedFields({ parameters }: Pick<AcceptClause, 'parameters'>): boolean {
  return parameters.get('drop') === 'metadata.managedFields';
}

/** An object's JSON with the parts that the response has. */
export function shownText({ text, managed }: ObjectText, { dropsManaged }: ObjectForm): string {
  return dropsManaged ? text : withManagedFields(text, managed);
}

/** Converts one object to the response format. */
export function encodeObject(format: AnswerFormat, object: ObjectText, columns: () => TableColumns): string {
  const shown = projected(format, shownText(object, format), columns);
  return format.type === 'application/json' ? shown : encodeYaml(JSON.parse(shown) as JsonValue);
}

function projected(format: AnswerFormat, text: string, columns: () => TableColumns): string {
  if (format.projection === 'table') return tableText(format.table, columns(), text);
  return format.projection === 'metadata' ? metadataText(text) : text;
}

export function encodeValue({ type }: Pick<AnswerFormat, 'type'>, value: JsonValue): string {
  return type === 'application/json' ? JSON.stringify(value) : encodeYaml(value);
}

function metadataOffer(as: string) {
  return { type: 'application/json', parameters: { as, v: 'v1', g: 'meta.k8s.io' }, projection: 'metadata' } as const;
}

function negotiated<T extends Offer>({ request }: RequestContext, offers: readonly T[]): T & ObjectForm {
  const found = negotiateClause(request.headers.accept, offers);
  if (found === undefined)
    throw newNotAcceptable(`only the following media types are accepted: ${whole.map(({ type }) => type).join(', ')}`);
  return { ...found.offer, dropsManaged: dropsManagedFields(found) };
}

function formatOf({ query }: RequestContext, offer: Offer & ObjectForm): AnswerFormat {
  if (offer.projection !== 'table') return offer;
  const { type, projection, dropsManaged, version } = offer;
  return { type, projection, dropsManaged, table: { version, includeObject: parseIncludeObject(query) } };
}
