import type { ControllerDefinition } from '#pkg/runtime/index';
import type { DefinedModel } from '../model/define-model.ts';
import type { EndpointDefinition } from './endpoint-definition.ts';

/** The default export of a plugin's module; presets are files next to it. */
export interface PluginDefinition {
  readonly models: readonly DefinedModel[];
  readonly controllers: readonly ControllerDefinition[];
  readonly endpoints: readonly EndpointDefinition[];
}

/**
 * Declares a plugin as a value: it can be inspected before it runs, and tested without a host. @throws TypeError for a
 * duplicate name
 */
export function definePlugin({
  models = [],
  controllers = [],
  endpoints = [],
}: Partial<PluginDefinition>): PluginDefinition {
  refuseTwice(
    'models',
    models.map(({ definition }) => definition.metadata.name),
  );
  refuseTwice(
    'controllers',
    controllers.map(({ name }) => name),
  );
  return Object.freeze({ models, controllers, endpoints });
}

function refuseTwice(what: string, names: readonly string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new TypeError(`a plugin has two ${what} named ${twice}`);
}
