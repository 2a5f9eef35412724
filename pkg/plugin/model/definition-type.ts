import type { ResourceType } from '#pkg/apimachinery/index';
import { definitionGroup, definitionKind, definitionModel, type CustomResourceDefinition } from '#pkg/apis/index';

/** Definitions, as a client names them. */
export const definitionType: ResourceType<CustomResourceDefinition> = {
  group: definitionGroup,
  version: 'v1',
  kind: definitionKind,
  plural: definitionModel.names.plural,
  namespaced: false,
  hasStatusSubresource: true,
};
