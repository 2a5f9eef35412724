import type { AnyObject } from '#pkg/apimachinery/index';
import type { EventHandler } from '../handler/event-handler.ts';
import type { Informer } from '../cache/informer.ts';
import { and, type Predicate } from '../predicate/predicate.ts';
import type { ReconcileRequest } from '../reconcile/reconciler.ts';

export interface EnqueueOptions {
  /** Of the change that asks for it: a stored position does not pass it before the request was answered. */
  revision?: bigint;
  /** Later, not now. Milliseconds. */
  afterMs?: number;
}

export type Enqueue = (request: ReconcileRequest, options?: EnqueueOptions) => void;

/** Where requests come from. */
export interface Source {
  /** Resolves when what there was at first has been enqueued; false if `signal` fired before. */
  start(enqueue: Enqueue, signal: AbortSignal): Promise<boolean>;
  /** Nothing is enqueued afterwards; where it answers a promise, nothing of it runs any more when that resolves. */
  stop(): void | Promise<void>;
  /** Why it has nothing to give now, although it has tried again and again; undefined where all is well. */
  problem?(): unknown;
}

/** The events of an informer, through predicates and a handler. */
export function informerSource<T extends AnyObject>(
  informer: Informer<T>,
  handler: EventHandler<T>,
  predicates: readonly Predicate<T>[] = [],
): Source {
  const isWorth = and(...predicates);
  let unlisten: (() => void) | undefined;
  return {
    start(enqueue, signal) {
      unlisten = informer.listen((event) => {
        if (!isWorth(event)) return;
        for (const request of handler(event)) enqueue(request);
      });
      return informer.waitForSync(signal);
    },
    stop: () => unlisten?.(),
    problem: () => informer.problem,
  };
}

/** Requests from outside the API: a timer, a webhook, another system. */
export class ChannelSource implements Source {
  #enqueue: Enqueue | undefined;

  /** Is dropped unless the controller runs. */
  push(request: ReconcileRequest): void {
    this.#enqueue?.(request);
  }

  start(enqueue: Enqueue): Promise<boolean> {
    this.#enqueue = enqueue;
    return Promise.resolve(true);
  }

  stop(): void {
    this.#enqueue = undefined;
  }
}
