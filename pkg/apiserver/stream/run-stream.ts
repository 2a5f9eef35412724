import { isStatusError, newInternalError, type StatusError } from '#pkg/apimachinery/index';
import { authorizeRequest, type Handler, type RequestContext } from '#pkg/http/index';
import type { Authorizer } from '#pkg/identity/index';
import type { Auditor } from '../audit/auditor.ts';
import type { RequestAudit } from '../audit/request-audit.ts';
import { RequestSource } from '../audit/request-source.ts';
import type { HandlerOptions } from '../handlers/options/handler-options.ts';
import { findResource, namespaceOf } from '../handlers/request/find-resource.ts';
import type { WatchFormat } from '../handlers/watch/watch-format.ts';
import { randomDuration } from '../handlers/watch/watch-parameters.ts';
import { watchAs } from '../handlers/watch/watch.ts';
import { WatchWriter } from '../handlers/watch/watch-writer.ts';
import type { ModelRegistry } from '../rest/served-resource.ts';
import type { StreamRequest, Subscription } from './read-stream.ts';
import { subscriptionContext, targetOf } from './subscription-watch.ts';

export interface StreamParts {
  registry: ModelRegistry;
  authorizer: Authorizer;
  options: HandlerOptions;
  /** Rejects when a watch would no longer be allowed. */
  recheck: Handler;
  auditor?: Auditor | undefined;
}

/** Subscriptions that begin at a time: each may read from the database. */
const maxBeginning = 4;
/** Longest time between two bookmarks of a subscription. Milliseconds. */
const maxBookmarkMs = 10_000;

/**
 * Answers with the events of all subscriptions, until the client leaves, the time is over, or none is left. Each is a
 * watch like any other: authorized, counted, audited; its error ends it alone.
 */
export async function runStream(
  context: RequestContext,
  { since, subscriptions }: StreamRequest,
  { format, parts }: { format: WatchFormat; parts: StreamParts },
): Promise<void> {
  const { watch: timing } = parts.options;
  const writer = new WatchWriter({ context, format, durationMs: randomDuration(timing), timing });
  const options = {
    ...parts.options,
    watch: { ...timing, bookmarkMs: Math.min(timing.bookmarkMs, maxBookmarkMs) },
  };
  try {
    // Frees the slots of the request: each watch takes its own.
    writer.begin();
    const beginning = new Set<Promise<void>>();
    const ends: Promise<void>[] = [];
    for (const subscription of subscriptions) {
      if (beginning.size === maxBeginning) await Promise.race(beginning);
      if (writer.isOver) break;
      const run = new SubscriptionRun({ context, subscription, since, format, writer, parts: { ...parts, options } });
      beginning.add(run.begun);
      void run.begun.then(() => beginning.delete(run.begun));
      ends.push(run.run());
    }
    await Promise.all(ends);
    writer.end();
  } finally {
    writer.dispose();
  }
}

interface SubscriptionRunOptions {
  context: RequestContext;
  subscription: Subscription;
  since: StreamRequest['since'];
  format: WatchFormat;
  writer: WatchWriter;
  parts: StreamParts;
}

class SubscriptionRun {
  /** Resolves when the watch has begun with its changes, or is over. */
  readonly begun: Promise<void>;
  readonly #options: SubscriptionRunOptions;
  /** What a line begins with. */
  readonly #head: Buffer;
  #markBegun!: () => void;

  constructor(options: SubscriptionRunOptions) {
    this.#options = options;
    this.#head = Buffer.from(`{"id":${JSON.stringify(options.subscription.id)},`);
    this.begun = new Promise((resolve) => {
      this.#markBegun = resolve;
    });
  }

  /** Resolves when the watch is over. Never rejects: an error is a line. */
  async run(): Promise<void> {
    const { context, subscription, since, parts } = this.#options;
    const bytes = context.bytes.part();
    let audit: RequestAudit | undefined;
    try {
      const target = targetOf(subscription, since);
      const own = subscriptionContext(context, target, bytes);
      audit = parts.auditor?.begin(new RequestSource(own, target.uri));
      await this.#watch(own, audit);
    } catch (error) {
      const failure = this.#told(error);
      if (audit !== undefined) parts.auditor?.end(audit, { code: failure.code, address: context.clientAddress });
      this.#fail(failure);
    } finally {
      bytes.end();
      this.#markBegun();
    }
  }

  async #watch(context: RequestContext, audit: RequestAudit | undefined): Promise<void> {
    const { format, writer, parts } = this.#options;
    const { registry, authorizer, options, recheck, auditor } = parts;
    const slots = await context.heldSlots?.ofWatch(context);
    try {
      await authorizeRequest(authorizer, context);
      const served = await findResource(registry, context.info);
      const namespace = await namespaceOf(registry, served, context.info, true);
      await watchAs({ context, served, namespace, name: '', options, recheck }, format, {
        writer,
        lineOf: (line) => this.#lineOf(line),
        onAccepted: () => {
          slots?.begun();
          if (audit !== undefined) auditor?.started(audit, 200);
        },
        onFollowing: this.#markBegun,
      });
    } finally {
      slots?.end();
    }
  }

  #fail(failure: StatusError): void {
    const { format, writer } = this.#options;
    if (!writer.isOver) writer.write(this.#lineOf(format.error(failure.toStatus())));
  }

  #lineOf(line: Buffer): Buffer {
    return Buffer.concat([this.#head, line.subarray(1)]);
  }

  #told(error: unknown): StatusError {
    const { log } = this.#options.context;
    if (!isStatusError(error)) {
      log.error({ err: error, subscription: this.#options.subscription.id }, 'internal error');
      return newInternalError(error);
    }
    if (error.cause !== undefined) log.warn({ err: error.cause }, `a subscription failed: ${error.message}`);
    return error;
  }
}
