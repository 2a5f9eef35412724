import { reviewModels } from '#pkg/apis/index';
import type { ModelRegistry, RegisteredModel } from '../../rest/served-resource.ts';

const reviews: readonly RegisteredModel[] = reviewModels.map((model) => ({
  model,
  terminating: false,
  fromDefinition: false,
  verbs: ['create'],
}));

/** What discovery tells of where reviews are answered: them too. */
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
