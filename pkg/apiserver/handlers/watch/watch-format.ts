import { newNotAcceptable, type Status, type WatchEventType } from '#pkg/apimachinery/index';
import { negotiate } from '#pkg/http/index';
import { metadataText } from '../answer/answer-format.ts';

/**
 * How events are written. `name` is the same for the same bytes: an event is encoded once for all watchers of a name.
 */
export interface WatchFormat {
  name: string;
  contentType: string;
  isEventStream: boolean;
  /** Does it show metadata alone? */
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

/** @throws StatusError 406, for YAML too: its documents have no end that a reader could see. */
export function watchFormat(accept: string | undefined): WatchFormat {
  const found = negotiate(accept, offers);
  if (found === undefined)
    throw newNotAcceptable(
      'only the following media types are accepted: application/json;stream=watch, text/event-stream',
    );
  return found.format;
}

/** One JSON document a line. */
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
 * The same as server-sent events, all of the default type. The id of an error is empty, which makes a browser forget
 * the last one: it reconnects as if for the first time instead of asking for what is gone. Source: HTML, "Server-sent
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
