import type { AnyObject } from '#pkg/apimachinery/index';
import type { EventHandler } from '../handler/event-handler.ts';
import type { Informer } from '../cache/informer.ts';
import { and, type Predicate } from '../predicate/predicate.ts';
import type { ReconcileRequest } from '../reconcile/reconciler.ts';

export interface EnqueueOptions {
  /** The change that enqueued it: a stored position does not pass it before the request is reconciled. */
  revision?: bigint;
  /** Delay. Milliseconds. */
  afterMs?: number;
}

export type Enqueue = (request: ReconcileRequest, options?: EnqueueOptions) => void;

/** A source of requests. */
export interface Source {
  /** Resolves when the initial requests are enqueued; false if `signal` fired before. */
  start(enqueue: Enqueue, signal: AbortSignal): Promise<boolean>;
  /** Enqueues nothing afterwards; if it returns a promise, all of it has stopped when that resolves. */
  stop(): void | Promise<void>;
  /** Why it has had nothing to enqueue after several failures; undefined without a problem. */
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

  /** Drops the request unless the controller runs. */
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
