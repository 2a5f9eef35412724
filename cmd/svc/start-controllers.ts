import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Client } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { builtinControllers } from '#pkg/controllers/index';
import { Manager, type ControllerDefinition } from '#pkg/runtime/index';
import type { ControllerMetrics } from './metrics/controller-metrics.ts';

/** Held by the one process, of all that run controllers, whose controllers work. */
const LEASE = 'svc-controllers';

export interface ControllersOptions {
  /** The API as somebody who may do everything. Whatever door it is: it must work until `stop` has resolved. */
  client: Client;
  log: Logger;
  /** Beside the platform's own. */
  others: readonly ControllerDefinition[];
  /** Who asks for the lease; never used again. Default: this host, and a random part. */
  identity?: string;
  metrics?: ControllerMetrics;
  /** For reconciles under way to end, at the stop. Milliseconds. */
  stopTimeoutMs: number;
}

/** Runs the platform's controllers for as long as this process holds their lease. `stop` gives it back; it never rejects. */
export function startControllers({ client, log, others, identity = `${hostname()}_${randomUUID()}`, metrics, stopTimeoutMs }: ControllersOptions): { stop(): Promise<void> } {
  const manager = new Manager({
    client,
    log,
    controllers: [...builtinControllers({ client, log }), ...others],
    election: { identity, namespace: systemNamespace, lease: LEASE },
    stopTimeoutMs,
    ...(metrics === undefined ? {} : { observerFor: metrics.observerFor }),
  });
  metrics?.showLeading(LEASE, () => manager.running.length > 0);
  manager.start();
  return manager;
}
