import type { JsonSchema } from '#pkg/apimachinery/index';
import { newConsoleModel } from './console-model.ts';

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
export const formHintModel = newConsoleModel({
  names: { plural: 'formhints', singular: 'formhint', kind: 'FormHint' },
  spec,
  columns: [{ name: 'Model', type: 'string', jsonPath: '.spec.model' }],
  indexed: ['model'],
});
