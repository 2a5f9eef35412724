import { createHash, randomBytes } from 'node:crypto';
import { formatTimestamp, type AnyObject } from '#pkg/apimachinery/index';
import { defaultNamespace, type Event, type InvolvedObject } from '#pkg/apis/index';
import type { EventFacts } from './event-sink.ts';

/** Source of the limits: client-go, `tools/record/events_cache.go`. */
const kept = 4096;
/** Events of one source about one object: this many at once, then one every five minutes. */
const burst = 25;
const refillMs = 300_000;
/** After this many different messages within ten minutes, events that differ only in the message are combined. */
const distinctMessages = 10;
const similarMs = 600_000;
const maxMessageLength = 1024;
const maxReasonLength = 128;

/** An event to store. */
export interface CorrelatedEvent {
  /** Equal for all events that are counted together. */
  key: string;
  event: Event;
  /** Set by the caller that stored it. */
  state: { isStored: boolean };
}

interface Observation {
  namespace: string;
  name: string;
  firstTimestamp: string;
  count: number;
  state: { isStored: boolean };
}

interface Similar {
  /** Digests of the messages. */
  messages: Set<string>;
  last: number;
}

/**
 * Reduces the number of events: counts repetitions, combines similar events, and limits each source. Source: client-go,
 * `EventCorrelator`.
 */
export class EventCorrelator {
  readonly #now: () => number;
  readonly #observations = new BoundedMap<Observation>(kept);
  readonly #similar = new BoundedMap<Similar>(kept);
  /** When the bucket of a source and object will be full again. */
  readonly #buckets = new BoundedMap<{ full: number }>(kept);

  /** `now` gives milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Undefined above the limit: the event is counted, and its count is in the next one. */
  correlate(
    component: string,
    instance: string | undefined,
    object: AnyObject,
    facts: EventFacts,
  ): CorrelatedEvent | undefined {
    const now = this.#now();
    const involvedObject = referenceTo(object);
    const { type } = facts;
    const reason = cleaned(facts.reason, maxReasonLength);
    const { resourceVersion: _, ...identity } = involvedObject;
    const likeness = JSON.stringify([component, identity, type, reason]);
    const { key, message } = this.#joined(likeness, cleaned(facts.message, maxMessageLength), now);
    const time = formatTimestamp(now);
    const observation = this.#observations.use(key, () => ({
      namespace: involvedObject.namespace ?? defaultNamespace,
      name: eventName(object),
      firstTimestamp: time,
      count: 0,
      state: { isStored: false },
    }));
    observation.count += 1;
    if (!this.#takeToken(JSON.stringify([component, identity]), now)) return undefined;
    const { namespace, name, firstTimestamp, count, state } = observation;
    const event: Event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name },
      involvedObject,
      type,
      reason,
      message,
      source: { component },
      firstTimestamp,
      lastTimestamp: time,
      count,
      reportingComponent: component,
      ...(instance === undefined ? {} : { reportingInstance: instance }),
    };
    return { key, event, state };
  }

  #joined(likeness: string, message: string, now: number): { key: string; message: string } {
    const similar = this.#similar.use(likeness, () => ({ messages: new Set(), last: now }));
    if (now - similar.last > similarMs) similar.messages.clear();
    similar.last = now;
    const digest = createHash('sha256').update(message).digest('base64url');
    if (!similar.messages.has(digest) && similar.messages.size >= distinctMessages)
      return { key: likeness, message: `(combined from similar events): ${message}` };
    similar.messages.add(digest);
    return { key: JSON.stringify([likeness, digest]), message };
  }

  #takeToken(source: string, now: number): boolean {
    const bucket = this.#buckets.use(source, () => ({ full: now }));
    const full = Math.max(bucket.full, now) + refillMs;
    if (full - now > burst * refillMs) return false;
    bucket.full = full;
    return true;
  }
}

function referenceTo({
  apiVersion,
  kind,
  metadata: { namespace, name, uid, resourceVersion },
}: AnyObject): InvolvedObject {
  const reference = {
    apiVersion,
    kind,
    namespace: namespace === '' ? undefined : namespace,
    name,
    uid,
    resourceVersion,
  };
  return Object.fromEntries(Object.entries(reference).filter(([, value]) => value !== undefined));
}

/** `<object>.<random>`, valid for any object name. */
function eventName({ metadata }: AnyObject): string {
  const readable = metadata.name
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .slice(0, 200)
    .split('.')
    .map((part) => part.replace(/^-+|-+$/g, ''))
    .filter((part) => part !== '')
    .join('.');
  return `${readable === '' ? 'object' : readable}.${randomBytes(8).toString('hex')}`;
}

/** A text that PostgreSQL can store, truncated. A copy, because a slice would keep the whole original in memory. */
function cleaned(text: string, longest: number): string {
  return Buffer.from(text.slice(0, longest).replaceAll('\0', '')).toString();
}

/** A map of at most `size` entries that evicts the least recently used one. */
class BoundedMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  /** Returns the entry as most recently used; creates it if missing. */
  use(key: string, make: () => Value): Value {
    const value = this.#entries.get(key) ?? make();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#size) this.#entries.delete(this.#entries.keys().next().value!);
    return value;
  }
}
