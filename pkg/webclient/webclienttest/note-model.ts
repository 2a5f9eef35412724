import type { ResourceType } from '#pkg/apimachinery/index';

/** For tests whose server is the test itself. */
export const noteModel: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Note',
  plural: 'notes',
  namespaced: false,
  hasStatusSubresource: false,
};
