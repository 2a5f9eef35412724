import type { ControllerDefinition } from '#pkg/runtime/index';
import { eventExpiry } from './event-expiry/event-expiry.ts';
import { garbageCollector } from './garbage-collector/garbage-collector.ts';
import type { CollectorOptions } from './garbage-collector/collector.ts';
import { namespaceController } from './namespace/namespace-controller.ts';

export type BuiltinControllerOptions = CollectorOptions;

/** All of them, for one Manager. */
export function builtinControllers(options: BuiltinControllerOptions): ControllerDefinition[] {
  return [namespaceController(options), garbageCollector(options), eventExpiry(options)];
}
