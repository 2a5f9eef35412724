import {
  initialEventsEndAnnotation,
  newNotAcceptable,
  type Status,
  type WatchEventType,
} from '#pkg/apimachinery/index';
import { negotiateClause, type Offer } from '#pkg/http/index';
import type { TableColumns } from '../../table/column-definition.ts';
import { dropsManagedFields, type ObjectForm } from '../answer/answer-format.ts';
import { metadataText } from '../answer/partial-object.ts';
import {
  parseIncludeObject,
  tableText,
  tableVersions,
  type TableForm,
  type TableVersion,
} from '../answer/table-text.ts';

/**
 * The encoding of events. Formats with the same `name` produce the same bytes: an event is encoded once for all their
 * watchers.
 */
export interface WatchFormat extends ObjectForm {
  name: string;
  contentType: string;
  isEventStream: boolean;
  /** Does the format contain only metadata? */
  isMetadata: boolean;
  event(type: WatchEventType, revision: number, text: string): Buffer;
  error(status: Status): Buffer;
  heartbeat: Buffer;
  /** The format of all events after the first. Absent if it is the same. */
  afterFirst?: WatchFormat;
}

/** The parts of a request that a watch of tables depends on. */
export interface TableRequest {
  query: URLSearchParams;
  columns: () => TableColumns;
}

interface WatchOffer extends Offer {
  format(request: TableRequest): WatchFormat;
}

/** Both content types of JSON lines. */
const lines = [
  { contentType: 'application/json', stream: {} },
  { contentType: 'application/json;stream=watch', stream: { stream: 'watch' } },
] as const;
const events = eventStream();

/** Formats that do not depend on the model. */
const streamOffers = lines.flatMap(({ contentType, stream }) => [
  linesOffer(stream, jsonLines({ name: 'json', contentType, shown: (_type, text) => text })),
  linesOffer({ as: 'PartialObjectMetadata', v: 'v1', g: 'meta.k8s.io', ...stream }, metadataLines(contentType)),
]);
const tableOffers: WatchOffer[] = lines.flatMap(({ contentType, stream }) =>
  tableVersions.map((version) => ({
    type: 'application/json',
    parameters: { as: 'Table', v: version, g: 'meta.k8s.io', ...stream },
    format: (request: TableRequest) => tableLines(contentType, version, request),
  })),
);
const lineOffers: WatchOffer[] = [...streamOffers, ...tableOffers];
const offers: WatchOffer[] = [...lineOffers, { type: 'text/event-stream', format: () => events }];

/**
 * The format that a client accepts; `isWebSocket`: one for messages, each of which is a line.
 * @throws StatusError 406, also for YAML: a reader cannot detect the end of a YAML document; and 400 for parameters of
 * a Table that are not valid
 */
export function watchFormat(
  accept: string | undefined,
  request: TableRequest,
  { isWebSocket = false }: { isWebSocket?: boolean } = {},
): WatchFormat {
  const found = negotiateClause(accept, isWebSocket ? lineOffers : offers);
  if (found === undefined) {
    const types = `application/json;stream=watch${isWebSocket ? '' : ', text/event-stream'}`;
    throw newNotAcceptable(`only the following media types are accepted: ${types}`);
  }
  const format = found.offer.format(request);
  return dropsManagedFields(found) ? withoutManaged(format) : format;
}

/** The format of a stream of several watches: whole objects or metadata alone. @throws StatusError 406 */
export function streamFormat(accept: string | undefined): WatchFormat {
  const found = negotiateClause(accept, streamOffers);
  if (found === undefined) throw newNotAcceptable('only the following media types are accepted: application/json');
  return dropsManagedFields(found) ? withoutManaged(found.offer.format()) : found.offer.format();
}

function withoutManaged({ afterFirst, ...format }: WatchFormat): WatchFormat {
  return {
    ...format,
    name: `${format.name};drop`,
    dropsManaged: true,
    ...(afterFirst === undefined ? {} : { afterFirst: withoutManaged(afterFirst) }),
  };
}

function linesOffer(
  parameters: Readonly<Record<string, string>>,
  format: WatchFormat,
): Offer & { format(): WatchFormat } {
  return {
    type: 'application/json',
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    format: () => format,
  };
}

interface JsonLinesOptions {
  name: string;
  contentType: string;
  isMetadata?: boolean;
  /** Converts an object's text to that in the event. */
  shown: (type: WatchEventType, text: string) => string;
}

/** One JSON document per line. */
function jsonLines({ name, contentType, isMetadata = false, shown }: JsonLinesOptions): WatchFormat {
  return {
    name,
    contentType,
    isEventStream: false,
    isMetadata,
    dropsManaged: false,
    event: (type, _revision, text) => Buffer.from(`{"type":"${type}","object":${shown(type, text)}}\n`),
    error: (status) => Buffer.from(`{"type":"ERROR","object":${JSON.stringify(status)}}\n`),
    heartbeat: Buffer.from('\n'),
  };
}

function metadataLines(contentType: string): WatchFormat {
  return jsonLines({
    name: 'metadata',
    contentType,
    isMetadata: true,
    shown: (type, text) => (type === 'BOOKMARK' ? text : metadataText(text)),
  });
}

/** Each event's object is a Table with one row; only the first has the columns. */
function tableLines(contentType: string, version: TableVersion, { query, columns }: TableRequest): WatchFormat {
  const form = { version, includeObject: parseIncludeObject(query) };
  const all = columns();
  const name = `table:${version}:${form.includeObject}`;
  const linesOf = (withColumns: boolean): WatchFormat =>
    jsonLines({
      name: withColumns ? `${name}:columns` : name,
      contentType,
      shown: (type, text) =>
        tableText(type === 'BOOKMARK' ? bookmarkForm(form, text) : form, all, text, { withColumns }),
    });
  return { ...linesOf(true), afterFirst: linesOf(false) };
}

/** The end of the initial events is an annotation, which the client must see. */
function bookmarkForm(form: TableForm, bookmark: string): TableForm {
  const isNeeded = form.includeObject === 'None' && bookmark.includes(initialEventsEndAnnotation);
  return isNeeded ? { ...form, includeObject: 'Metadata' } : form;
}

/**
 * Server-sent events, all of the default type. An error has an empty id, so that a browser forgets the last id and
 * reconnects as if for the first time, instead of asking for a revision that is gone. Source: HTML, "Server-sent
 * events".
 */
function eventStream(): WatchFormat {
  return {
    name: 'sse',
    contentType: 'text/event-stream',
    isEventStream: true,
    isMetadata: false,
    dropsManaged: false,
    event: (type, revision, text) => Buffer.from(`id: ${revision}\ndata: {"type":"${type}","object":${text}}\n\n`),
    error: (status) => Buffer.from(`id:\ndata: {"type":"ERROR","object":${JSON.stringify(status)}}\n\n`),
    heartbeat: Buffer.from(':\n\n'),
  };
}
