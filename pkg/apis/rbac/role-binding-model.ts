import { metadataMergeKeys, type JsonSchema, type Model, type ResourceType, type Scope } from '#pkg/apimachinery/index';
import { rbacGroup } from './policy-rule.ts';
import { clusterRoleBindingType, roleBindingType, type ClusterRoleBinding, type RoleBinding } from './role-binding.ts';

const text: JsonSchema = { type: 'string' };

const roleRef: JsonSchema = {
  type: 'object',
  description: 'The role that is given; it cannot be changed.',
  required: ['kind', 'name'],
  properties: { apiGroup: { ...text, default: rbacGroup }, kind: text, name: text },
};

const subjects: JsonSchema = {
  type: 'array',
  description: 'Whom it is given.',
  items: {
    type: 'object',
    required: ['kind', 'name'],
    properties: {
      kind: { ...text, description: 'User, Group or ServiceAccount.' },
      apiGroup: text,
      name: text,
      namespace: { ...text, description: 'Of a service account.' },
    },
  },
};

export const roleBindingModel = modelOf(roleBindingType, { singular: 'rolebinding', scope: 'Namespaced' });
export const clusterRoleBindingModel = modelOf(clusterRoleBindingType, {
  singular: 'clusterrolebinding',
  scope: 'Cluster',
});

function modelOf(
  { kind, plural, version }: ResourceType<RoleBinding> | ResourceType<ClusterRoleBinding>,
  { singular, scope }: { singular: string; scope: Scope },
): Model {
  return {
    group: rbacGroup,
    names: { plural, singular, kind, listKind: `${kind}List`, shortNames: [], categories: [] },
    scope,
    versions: [
      {
        name: version,
        served: true,
        deprecated: false,
        schema: {
          type: 'object',
          required: ['roleRef'],
          properties: { apiVersion: text, kind: text, metadata: { type: 'object' }, roleRef, subjects },
        },
        subresources: { status: false },
        // Its cells are more than one value each: apiserver/table/builtin-tables.
        printerColumns: [],
        selectableFields: [],
      },
    ],
    storageVersion: version,
    indexes: [],
    nameRule: 'path-segment',
    listMergeKeys: metadataMergeKeys,
  };
}
