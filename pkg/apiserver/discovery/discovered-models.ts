import type { ModelRegistry, RegisteredModel } from '../rest/served-resource.ts';

/** What discovery shows: the models of a registry, and kinds that are served but not stored. */
export function discoveredModels(
  registry: Pick<ModelRegistry, 'models' | 'generation'>,
  unstored: readonly RegisteredModel[],
): Pick<ModelRegistry, 'models' | 'generation'> {
  return {
    models: () => [...registry.models(), ...unstored],
    get generation() {
      return registry.generation;
    },
  };
}
