import type { JsonSchema } from '#pkg/apimachinery/index';
import { newConsoleModel } from './console-model.ts';
import { consolePageKind, consolePageType } from './console-page.ts';

const texts: JsonSchema = { type: 'array', maxItems: 100, items: { type: 'string', maxLength: 1024 } };

const spec: JsonSchema = {
  type: 'object',
  required: ['title', 'frame'],
  properties: {
    title: { type: 'string', minLength: 1, maxLength: 100, description: 'What people call it.' },
    description: { type: 'string', maxLength: 1000 },
    order: {
      type: 'integer',
      minimum: 0,
      maximum: 10_000,
      description: 'Pages with a number are first, in its order.',
    },
    frame: {
      type: 'object',
      required: ['file'],
      description: 'A page of the plugin, in a frame that reaches nothing but this API.',
      properties: {
        file: {
          type: 'string',
          maxLength: 256,
          pattern: '^[A-Za-z0-9_][A-Za-z0-9._/-]*\\.html$',
          description: 'Of ui/ in the folder of the plugin, or made from pages/: board.html.',
        },
        hash: {
          type: 'string',
          pattern: '^[0-9a-f]{32}$',
          description: 'Of all files of the pages; the start of the plugin sets it.',
        },
      },
    },
    rules: {
      type: 'array',
      maxItems: 50,
      description:
        'What requests of the page may do, as rules of a ClusterRole; never more than its user may. Without rules, nothing.',
      items: {
        type: 'object',
        required: ['verbs'],
        properties: {
          verbs: texts,
          apiGroups: texts,
          resources: texts,
          resourceNames: texts,
          nonResourceURLs: texts,
        },
      },
    },
  },
};

/** A page that a plugin adds to the console, as a preset. */
export const consolePageModel = newConsoleModel({
  names: { plural: consolePageType.plural, singular: 'consolepage', kind: consolePageKind },
  spec,
  columns: [{ name: 'Title', type: 'string', jsonPath: '.spec.title' }],
  indexed: ['title'],
});
