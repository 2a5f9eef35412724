import { metadataMergeKeys, type JsonSchema, type Model } from '#pkg/apimachinery/index';

const field: JsonSchema = {
  type: 'object',
  required: ['path'],
  properties: {
    path: {
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      description: 'The field: spec.ports[*].name, where [*] is every element of a list or a map.',
    },
    label: { type: 'string', minLength: 1, maxLength: 100, description: 'Shown instead of the name of the field.' },
    help: { type: 'string', maxLength: 1000, description: 'Shown instead of the description in the schema.' },
    order: {
      type: 'integer',
      minimum: 0,
      maximum: 10_000,
      description: 'Fields with a number are first, in its order.',
    },
    more: { type: 'boolean', description: 'Is the field, while it is absent, shown only after "Show more"?' },
    widget: {
      type: 'string',
      enum: ['text', 'multiline', 'yaml'],
      description: 'A line, several lines, or YAML. Default: as the schema and the value suggest.',
    },
  },
};

const spec: JsonSchema = {
  type: 'object',
  required: ['model', 'fields'],
  properties: {
    model: {
      type: 'string',
      minLength: 1,
      maxLength: 253,
      description: 'Whose form, as the name of a definition: posts.blog.example.com, or configmaps of the core group.',
    },
    fields: {
      type: 'array',
      maxItems: 1000,
      items: field,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['path'],
    },
  },
};

/** How the console shows the form of a model; it changes nothing of what is stored. A plugin ships one as a preset. */
export const formHintModel: Model = {
  group: 'console.svc.run',
  names: {
    plural: 'formhints',
    singular: 'formhint',
    kind: 'FormHint',
    listKind: 'FormHintList',
    shortNames: [],
    categories: [],
  },
  scope: 'Cluster',
  versions: [
    {
      name: 'v1alpha1',
      served: true,
      deprecated: false,
      schema: {
        type: 'object',
        required: ['spec'],
        properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, spec },
      },
      subresources: { status: false },
      printerColumns: [
        { name: 'Model', type: 'string', jsonPath: '.spec.model' },
        { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
      ],
      selectableFields: ['.spec.model'],
    },
  ],
  storageVersion: 'v1alpha1',
  indexes: [{ name: 'spec.model', path: 'spec.model', type: 'string', multi: false, unique: false, nullable: true }],
  nameRule: 'dns-subdomain',
  listMergeKeys: metadataMergeKeys,
};
