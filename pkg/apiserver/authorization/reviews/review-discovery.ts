import { reviewModels } from '#pkg/apis/index';
import type { ModelRegistry, RegisteredModel } from '../../rest/served-resource.ts';

const reviews: readonly RegisteredModel[] = reviewModels.map((model) => ({
  model,
  terminating: false,
  fromDefinition: false,
  verbs: ['create'],
}));

/** Adds the review models to discovery, on servers that answer reviews. */
export function withReviewModels(
  registry: Pick<ModelRegistry, 'models' | 'generation'>,
): Pick<ModelRegistry, 'models' | 'generation'> {
  return {
    models: () => [...registry.models(), ...reviews],
    get generation() {
      return registry.generation;
    },
  };
}
