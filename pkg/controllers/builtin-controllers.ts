import type { ControllerDefinition } from '#pkg/runtime/index';
import { eventExpiry } from './event-expiry/event-expiry.ts';
import { garbageCollector } from './garbage-collector/garbage-collector.ts';
import type { CollectorOptions } from './garbage-collector/collector.ts';
import { namespaceController } from './namespace/namespace-controller.ts';
import { modelRoles } from './roles/model-roles.ts';
import { pluginImpersonator } from './roles/plugin-impersonator.ts';
import { pluginRoles } from './roles/plugin-roles.ts';
import { roleAggregation } from './roles/role-aggregation.ts';

export type BuiltinControllerOptions = CollectorOptions;

/** All built-in controllers, for one Manager. */
export function builtinControllers(options: BuiltinControllerOptions): ControllerDefinition[] {
  return [
    namespaceController(options),
    garbageCollector(options),
    eventExpiry(options),
    modelRoles(options),
    roleAggregation(),
    pluginRoles(),
    pluginImpersonator(),
  ];
}
