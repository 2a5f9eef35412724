import { clientEventOf, StatusError, type AnyObject, type ClientEvent } from '#pkg/apimachinery/index';
import { childController } from '../child-controller.ts';
import type { ChangeSink } from '../live-source.ts';
import { RetryBackoff } from '../retry-backoff.ts';
import type { RequestSender } from '../request/sender.ts';
import { FetchEventStream } from '../watch/event-stream.ts';

/** What a subscription watches, as the server reads it. */
export interface StreamTarget {
  group: string;
  version: string;
  resource: string;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

interface Follower {
  target: StreamTarget;
  /** The newest revision that it has got. */
  position: number;
  sink: ChangeSink<AnyObject>;
  isLive?: boolean;
  /** Without an error: streams are refused. */
  end(error?: StatusError): void;
}

interface Line {
  id: string;
  event: ClientEvent<AnyObject> | StatusError;
}

const path = '/apis/stream.svc.run/v1alpha1/streams';
/** The most that the server takes. */
const maxFollowers = 64;
/** Followers that come within this time share one request. Milliseconds. */
const gatherMs = 20;

/**
 * One stream for all selections of a connection: it resumes after every end, on any replica. Where a selection comes or
 * goes, another stream takes over from the revision that all have reached, and each skips what it has got. Until that one
 * is answered, the one before goes on.
 */
export class SharedStream {
  readonly #sender: RequestSender;
  readonly accept: string;
  readonly #followers = new Map<string, Follower>();
  #lastId = 0;
  #isGathering = false;
  /** Ends the newest connection, also while it waits to be opened. */
  #newest = new AbortController();
  /** Ends the one that was answered last. */
  #answered = this.#newest;

  constructor(sender: RequestSender, accept: string) {
    this.#sender = sender;
    this.accept = accept;
  }

  get isFull(): boolean {
    return this.#followers.size >= maxFollowers;
  }

  /**
   * Tells `sink` every change after `since` until the signal aborts or the stream is refused; answers false if nothing was
   * told before, as by a server without streams. @throws StatusError that it has for this selection: 410 means to list again
   */
  follow(target: StreamTarget, since: string, sink: ChangeSink<AnyObject>, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const id = String(this.#lastId);
      const from = Number(since);
      const end = (error?: StatusError): void => {
        this.#followers.delete(id);
        if (signal.aborted || this.#followers.size === 0) this.#gather();
        signal.removeEventListener('abort', leave);
        if (error === undefined) resolve(signal.aborted || follower.position > from);
        else reject(error);
      };
      const leave = (): void => end();
      const follower = { target, position: from, sink, end };
      this.#followers.set(id, follower);
      signal.addEventListener('abort', leave);
      this.#gather();
    });
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    setTimeout(() => {
      this.#isGathering = false;
      if (this.#newest !== this.#answered) this.#newest.abort();
      this.#newest = new AbortController();
      if (this.#followers.size === 0) this.#answered.abort();
      else void this.#run(this.#newest);
    }, gatherMs);
  }

  /** Follows until `end` aborts. Never rejects. */
  async #run(end: AbortController): Promise<void> {
    const backoff = new RetryBackoff();
    while (!end.signal.aborted && this.#followers.size > 0) {
      let isStale = true;
      let failure: StatusError | undefined;
      try {
        isStale = await this.#connect(end, backoff);
      } catch (error) {
        if (error instanceof StatusError) failure = error;
      }
      if (end.signal.aborted) return;
      // Neither too slow nor too many: it will be refused again.
      const isRefused = /^4(?!08|29)/.test(`${failure?.code}`);
      for (const follower of this.#followers.values()) {
        if (isRefused) follower.end();
        // It still has the stream before.
        else if (follower.isLive && end !== this.#answered) continue;
        follower.isLive = false;
        follower.sink.behind(isStale && !isRefused, failure);
      }
      await backoff.wait(end.signal);
    }
  }

  /** Answers, at the end of the connection, whether it was silent. */
  async #connect(end: AbortController, backoff: RetryBackoff): Promise<boolean> {
    const followers = new Map(this.#followers);
    const limit = childController(end.signal);
    try {
      const body = {
        since: String(Math.min(...[...followers.values()].map(({ position }) => position))),
        subscriptions: [...followers].map(([id, { target }]) => ({ id, ...target })),
      };
      const call = { method: 'POST', path, body, accept: this.accept, isRepeatable: false } as const;
      const opened = this.#sender.open(call, limit).then((response) => {
        end.signal.throwIfAborted();
        if (this.#answered !== end) this.#answered.abort();
        this.#answered = end;
        return response.body!;
      });
      const stream = new FetchEventStream(opened, limit, this.#sender.maxSilenceMs);
      for await (const lines of stream.lines(readLine)) {
        backoff.reset();
        this.#take(lines, followers);
      }
      return stream.wasSilent;
    } finally {
      limit.abort();
    }
  }

  #take(lines: readonly Line[], followers: ReadonlyMap<string, Follower>): void {
    const batches = new Map<Follower, ClientEvent<AnyObject>[]>();
    for (const { id, event } of lines) {
      const follower = followers.get(id);
      if (follower === undefined || this.#followers.get(id) !== follower) continue;
      if (event instanceof StatusError) {
        follower.end(event);
        continue;
      }
      follower.isLive = true;
      follower.sink.live();
      const revision = Number(
        event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion,
      );
      // It has got that by the stream before.
      if (revision < follower.position || (revision === follower.position && event.type !== 'BOOKMARK')) continue;
      follower.position = revision;
      const batch = batches.get(follower) ?? [];
      batches.set(follower, batch);
      batch.push(event);
    }
    for (const [{ sink }, batch] of batches) sink.take(batch);
  }
}

function readLine(line: string): Line {
  const value = JSON.parse(line) as { id: string };
  try {
    return { id: value.id, event: clientEventOf(value) };
  } catch (error) {
    return { id: value.id, event: error as StatusError };
  }
}
