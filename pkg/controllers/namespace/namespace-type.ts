import type { ApiObject, Condition, ResourceType } from '#pkg/apimachinery/index';

export type Namespace = ApiObject<
  { finalizers?: string[] },
  { phase?: 'Active' | 'Terminating'; conditions?: Condition[] }
>;

export const namespaceType: ResourceType<Namespace> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};
