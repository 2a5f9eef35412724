import type { ResourceType } from '#pkg/apimachinery/index';
import { definitionModel } from './definition-model.ts';
import { definitionGroup, definitionKind, type CustomResourceDefinition } from './definition.ts';

/** Definitions, as a client names them. */
export const definitionType: ResourceType<CustomResourceDefinition> = {
  group: definitionGroup,
  version: 'v1',
  kind: definitionKind,
  plural: definitionModel.names.plural,
  namespaced: false,
  hasStatusSubresource: true,
};
