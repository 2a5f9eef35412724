import { encodeYaml, formatApiVersion, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import type { ObjectText, Representation, ServedResource } from '../../rest/served-resource.ts';
import { tableColumns } from '../../table/table-columns.ts';
import { shownText, type AnswerFormat } from '../answer/answer-format.ts';
import { metadataText } from '../answer/partial-object.ts';
import { rowText, tableTypeMeta } from '../answer/table-text.ts';
import { servedKind } from '../request/resource-request.ts';

export interface ListMetadata {
  /** Absent where nothing was read or written. */
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: number;
}

/** The fields for `page` and `size`; absent where `limit` was used. */
export interface PageFields {
  page: number;
  size: number;
  total: number;
  totalPages: number;
  first: boolean;
  last: boolean;
  hasNext: boolean;
  hasPrevious: boolean;
  totalIsLowerBound?: true;
}

/**
 * A list's text in pieces, so that a response can be built at once or streamed: the head, each item after its
 * separator, the tail.
 */
export interface ListEnvelope {
  head(metadata: ListMetadata): string;
  item(object: ObjectText, isFirst: boolean): string;
  tail(fields: PageFields | undefined, isEmpty: boolean): string;
}

/** What differs between a list of objects, one of metadata, and a Table. */
interface ListForm {
  typeMeta: JsonObject;
  /** Fields after the metadata. */
  fields: JsonObject;
  /** The field that holds the items. */
  items: 'items' | 'rows';
  /** Converts an object's JSON text to that of its item. */
  shown: (text: string) => string;
}

/** Items stay text: JSON is not parsed, and YAML is encoded one item at a time. */
export function listEnvelope(served: ServedResource, format: AnswerFormat): ListEnvelope {
  const form = listForm(served, format);
  const shown = (object: ObjectText): string => form.shown(shownText(object, format));
  return format.type === 'application/json' ? jsonEnvelope(form, shown) : yamlEnvelope(form, shown);
}

function listForm(served: ServedResource, format: AnswerFormat): ListForm {
  if (format.projection === 'table') {
    const columns = tableColumns(served);
    return {
      typeMeta: tableTypeMeta(format.table),
      fields: { columnDefinitions: [...columns.definitions] },
      items: 'rows',
      shown: (text) => rowText(format.table, columns, text),
    };
  }
  if (format.projection === 'metadata') {
    const typeMeta = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList' };
    return { typeMeta, fields: {}, items: 'items', shown: metadataText };
  }
  const typeMeta = { apiVersion: formatApiVersion(servedKind(served)), kind: served.model.names.listKind };
  return { typeMeta, fields: {}, items: 'items', shown: (text) => text };
}

function jsonEnvelope({ typeMeta, fields, items }: ListForm, shown: (object: ObjectText) => string): ListEnvelope {
  return {
    head: (metadata) => `${JSON.stringify({ ...typeMeta, metadata, ...fields }).slice(0, -1)},"${items}":[`,
    item: (object, isFirst) => (isFirst ? shown(object) : `,${shown(object)}`),
    tail: (page) => (page === undefined ? ']}' : `],${JSON.stringify(page).slice(1)}`),
  };
}

/** Encodes each item as a sequence of one: YAML allows its dashes at the indentation of the key. */
function yamlEnvelope({ typeMeta, fields, items }: ListForm, shown: (object: ObjectText) => string): ListEnvelope {
  return {
    head: (metadata) => `${encodeYaml({ ...typeMeta, metadata: { ...metadata }, ...fields })}${items}:`,
    item: (object, isFirst) => `${isFirst ? '\n' : ''}${encodeYaml([JSON.parse(shown(object)) as JsonValue])}`,
    tail: (page, isEmpty) => `${isEmpty ? ' []\n' : ''}${page === undefined ? '' : encodeYaml({ ...page })}`,
  };
}

/**
 * Yields a list's text as its objects arrive: the whole text may exceed the maximum string length. `fields` receives
 * the number of objects.
 */
export async function* listPieces(
  envelope: ListEnvelope,
  metadata: ListMetadata,
  objects: AsyncIterable<readonly Representation[]>,
  fields?: (count: number) => PageFields,
): AsyncGenerator<string> {
  yield envelope.head(metadata);
  let count = 0;
  for await (const batch of objects) {
    yield batch.map((object, position) => envelope.item(object, count + position === 0)).join('');
    count += batch.length;
  }
  yield envelope.tail(fields?.(count), count === 0);
}

export function pageFields(
  page: number,
  size: number,
  { total, totalIsLowerBound, hasNext }: { total: number; totalIsLowerBound: boolean; hasNext: boolean },
): PageFields {
  const totalPages = size === 0 ? 0 : Math.ceil(total / size);
  return {
    page,
    size,
    total,
    totalPages,
    first: page === 1 || total === 0,
    last: !hasNext,
    hasNext,
    hasPrevious: page > 1 && total > 0,
    ...(totalIsLowerBound ? { totalIsLowerBound } : {}),
  };
}

/** The fields of a list that was not paged: one page that holds everything. */
export function wholePageFields(total: number): PageFields {
  return pageFields(1, total, { total, totalIsLowerBound: false, hasNext: false });
}
