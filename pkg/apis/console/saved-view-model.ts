import type { JsonSchema } from '#pkg/apimachinery/index';
import { newConsoleModel } from './console-model.ts';
import { listFields } from './list-schema.ts';

const spec: JsonSchema = {
  type: 'object',
  required: ['title', 'model'],
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 100, description: 'What people call it.' },
    description: { type: 'string', maxLength: 1000 },
    ...listFields,
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
