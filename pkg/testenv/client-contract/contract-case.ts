import type { AnyObject, Client, ClientEvent, EventStream, Stored } from '#pkg/apimachinery/index';
import type { OpenTransport } from './transport.ts';
import type { Note } from './note-model.ts';

/** What a case uses, evaluated when it runs. */
export interface Contract {
  transport: () => OpenTransport;
  client: () => Client;
  /** The transport's own namespace. */
  namespace: string;
}

/** The same value, deeply frozen. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}

export function objectNames(items: readonly AnyObject[]): string[] {
  return items.map(({ metadata }) => metadata.name);
}

/** Reads from a stream until `enough` returns true; skips bookmarks. */
export async function readUntil(
  stream: EventStream<Note>,
  enough: (told: readonly ReceivedEvent[]) => boolean,
): Promise<ReceivedEvent[]> {
  const told: ReceivedEvent[] = [];
  for await (const event of stream) {
    if (event.type === 'BOOKMARK') continue;
    told.push(event);
    if (enough(told)) return told;
  }
  throw new Error(`the stream ended after ${told.length} events`);
}

export type ReceivedEvent = Exclude<ClientEvent<Note>, { type: 'BOOKMARK' }>;

/** `ADDED a`, `MODIFIED a` */
export function eventTexts(told: readonly ReceivedEvent[]): string[] {
  return told.map(({ type, object }) => `${type} ${object.metadata.name}`);
}

/** The remaining events of a stream. */
export async function readToEnd(stream: EventStream<Note>): Promise<ClientEvent<Note>[]> {
  const events: ClientEvent<Note>[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

export function noteKey({ metadata }: Stored<Note>): { namespace: string; name: string } {
  return { namespace: metadata.namespace!, name: metadata.name };
}
