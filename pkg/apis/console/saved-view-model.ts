import type { JsonSchema } from '#pkg/apimachinery/index';
import { newConsoleModel } from './console-model.ts';

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
export const savedViewModel = newConsoleModel({
  names: { plural: 'savedviews', singular: 'savedview', kind: 'SavedView' },
  spec,
  columns: [
    { name: 'Title', type: 'string', jsonPath: '.spec.title' },
    { name: 'Model', type: 'string', jsonPath: '.spec.model' },
  ],
  indexed: ['model', 'title'],
});
