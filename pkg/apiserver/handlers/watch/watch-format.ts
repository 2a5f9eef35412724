import { newNotAcceptable, type Status, type WatchEventType } from '#pkg/apimachinery/index';
import { negotiate } from '#pkg/http/index';
import { metadataText } from '../answer/answer-format.ts';

/**
 * The encoding of events. Formats with the same `name` produce the same bytes: an event is encoded once for all their
 * watchers.
 */
export interface WatchFormat {
  name: string;
  contentType: string;
  isEventStream: boolean;
  /** Does the format contain only metadata? */
  isMetadata: boolean;
  event(type: WatchEventType, revision: number, text: string): Buffer;
  error(status: Status): Buffer;
  heartbeat: Buffer;
}

const metadata = { as: 'PartialObjectMetadata', v: 'v1', g: 'meta.k8s.io' };
const offers = [
  { type: 'application/json', format: jsonLines('application/json', false) },
  {
    type: 'application/json',
    parameters: { stream: 'watch' },
    format: jsonLines('application/json;stream=watch', false),
  },
  { type: 'text/event-stream', format: eventStream() },
  { type: 'application/json', parameters: metadata, format: jsonLines('application/json', true) },
  {
    type: 'application/json',
    parameters: { ...metadata, stream: 'watch' },
    format: jsonLines('application/json;stream=watch', true),
  },
];

/** @throws StatusError 406, also for YAML: a reader cannot detect the end of a YAML document. */
export function watchFormat(accept: string | undefined): WatchFormat {
  const found = negotiate(accept, offers);
  if (found === undefined)
    throw newNotAcceptable(
      'only the following media types are accepted: application/json;stream=watch, text/event-stream',
    );
  return found.format;
}

/** One JSON document per line. */
function jsonLines(contentType: string, isMetadata: boolean): WatchFormat {
  const shown = isMetadata ? metadataText : (text: string): string => text;
  return {
    name: isMetadata ? 'metadata' : 'json',
    contentType,
    isEventStream: false,
    isMetadata,
    event: (type, _revision, text) =>
      Buffer.from(`{"type":"${type}","object":${type === 'BOOKMARK' ? text : shown(text)}}\n`),
    error: (status) => Buffer.from(`{"type":"ERROR","object":${JSON.stringify(status)}}\n`),
    heartbeat: Buffer.from('\n'),
  };
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
    event: (type, revision, text) => Buffer.from(`id: ${revision}\ndata: {"type":"${type}","object":${text}}\n\n`),
    error: (status) => Buffer.from(`id:\ndata: {"type":"ERROR","object":${JSON.stringify(status)}}\n\n`),
    heartbeat: Buffer.from(':\n\n'),
  };
}
