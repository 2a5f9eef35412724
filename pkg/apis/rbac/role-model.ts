import { metadataMergeKeys, type JsonSchema, type Model, type ResourceType, type Scope } from '#pkg/apimachinery/index';
import { rbacGroup } from './policy-rule.ts';
import { clusterRoleType, roleType, type ClusterRole, type Role } from './role.ts';

const texts: JsonSchema = { type: 'array', items: { type: 'string' } };

const rules: JsonSchema = {
  type: 'array',
  description: 'What the role allows.',
  items: {
    type: 'object',
    required: ['verbs'],
    properties: {
      verbs: { ...texts, description: "'*' is all." },
      apiGroups: { ...texts, description: "'' is the core group, '*' all." },
      resources: { ...texts, description: "Plurals, with '/<subresource>' where that is meant; '*' is all." },
      resourceNames: { ...texts, description: 'Only objects of these names.' },
      nonResourceURLs: {
        ...texts,
        description: "Paths that are no resources; '*' at the end stands for whatever follows. In ClusterRoles alone.",
      },
    },
  },
};

const selector: JsonSchema = {
  type: 'object',
  properties: {
    matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
    matchExpressions: {
      type: 'array',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: { key: { type: 'string' }, operator: { type: 'string' }, values: texts },
      },
    },
  },
};

const aggregationRule: JsonSchema = {
  type: 'object',
  description:
    'With it, the role has the rules of all ClusterRoles that one of the selectors takes; what is written as its rules is replaced by them.',
  properties: { clusterRoleSelectors: { type: 'array', items: selector } },
};

export const roleModel = modelOf(roleType, { singular: 'role', scope: 'Namespaced', properties: { rules } });
export const clusterRoleModel = modelOf(clusterRoleType, {
  singular: 'clusterrole',
  scope: 'Cluster',
  properties: { rules, aggregationRule },
});

interface RoleParts {
  singular: string;
  scope: Scope;
  properties: Record<string, JsonSchema>;
}

function modelOf(
  { kind, plural, version }: ResourceType<Role> | ResourceType<ClusterRole>,
  { singular, scope, properties }: RoleParts,
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
          properties: {
            apiVersion: { type: 'string' },
            kind: { type: 'string' },
            metadata: { type: 'object' },
            ...properties,
          },
        },
        subresources: { status: false },
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
