import { reviewModels } from '#pkg/apis/index';
import type { RegisteredModel } from '../../rest/served-resource.ts';

/** The reviews in discovery, on servers that answer them. */
export const registeredReviews: readonly RegisteredModel[] = reviewModels.map((model) => ({
  model,
  terminating: false,
  fromDefinition: false,
  verbs: ['create'],
}));
