import type { JsonSchema } from '#pkg/apimachinery/index';

/** A clause, a sort key, or the name of a column: each is part of a URL of the console. */
const texts: JsonSchema = { type: 'array', maxItems: 50, items: { type: 'string', minLength: 1, maxLength: 1024 } };

/** What says which objects a list of the console has, and how it shows them. */
export const listFields = {
  model: {
    type: 'string',
    minLength: 1,
    maxLength: 253,
    description: 'As the name of a definition: posts.blog.example.com, or configmaps of the core group.',
  },
  namespace: { type: 'string', maxLength: 63, description: 'The namespace to list; absent for all.' },
  fields: { ...texts, description: 'Conditions on indexes, as in a field selector: priority>=3. All must hold.' },
  labels: { ...texts, description: 'Labels: key=value, or key. All must hold.' },
  sort: { ...texts, maxItems: 8, description: 'Indexes in order of priority: priority,desc.' },
  columns: {
    ...texts,
    description: 'Names of printer columns in their order; absent for those that the model always shows.',
  },
} as const satisfies Record<string, JsonSchema>;
