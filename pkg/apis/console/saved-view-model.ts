import { metadataMergeKeys, type JsonSchema, type Model } from '#pkg/apimachinery/index';

/** A clause, a sort key, or the name of a column: each is part of a URL of the console. */
const texts: JsonSchema = { type: 'array', maxItems: 50, items: { type: 'string', minLength: 1, maxLength: 1024 } };

const spec: JsonSchema = {
  type: 'object',
  required: ['title', 'model'],
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 100, description: 'What people call it.' },
    description: { type: 'string', maxLength: 1000 },
    model: {
      type: 'string',
      minLength: 1,
      maxLength: 253,
      description:
        'What it lists, as the name of a definition: posts.blog.example.com, or configmaps of the core group.',
    },
    namespace: { type: 'string', maxLength: 63, description: 'The namespace to list; absent for all.' },
    fields: { ...texts, description: 'Conditions on indexes, as in a field selector: priority>=3. All must hold.' },
    labels: { ...texts, description: 'Labels: key=value, or key. All must hold.' },
    sort: { ...texts, maxItems: 8, description: 'Indexes in order of priority: priority,desc.' },
    columns: {
      ...texts,
      description: 'Names of printer columns in their order; absent for those that the model always shows.',
    },
  },
};

/** A view of a list in the console that somebody shares, or a plugin ships. */
export const savedViewModel: Model = {
  group: 'console.svc.run',
  names: {
    plural: 'savedviews',
    singular: 'savedview',
    kind: 'SavedView',
    listKind: 'SavedViewList',
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
        { name: 'Title', type: 'string', jsonPath: '.spec.title' },
        { name: 'Model', type: 'string', jsonPath: '.spec.model' },
        { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
      ],
      selectableFields: ['.spec.model'],
    },
  ],
  storageVersion: 'v1alpha1',
  indexes: [
    { name: 'spec.model', path: 'spec.model', type: 'string', multi: false, unique: false, nullable: true },
    { name: 'spec.title', path: 'spec.title', type: 'string', multi: false, unique: false, nullable: true },
  ],
  nameRule: 'dns-subdomain',
  listMergeKeys: metadataMergeKeys,
};
