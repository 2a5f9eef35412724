import type { JsonSchema } from '#pkg/apimachinery/index';
import { newConsoleModel } from './console-model.ts';
import { consolePageKind, consolePageType } from './console-page.ts';
import { listFields } from './list-schema.ts';

const texts: JsonSchema = { type: 'array', maxItems: 100, items: { type: 'string', maxLength: 1024 } };

const { model, namespace, fields, labels } = listFields;
const title: JsonSchema = { type: 'string', minLength: 1, maxLength: 100 };

/** What a button or an action sends: the plugin chose it, so it goes in the name of the page. */
const requestFields: Readonly<Record<string, JsonSchema>> = {
  path: {
    type: 'string',
    maxLength: 1024,
    pattern:
      '^/apis/((uc|console)\\.)?api\\.[a-z0-9.-]+/[a-z0-9]+(/([A-Za-z0-9_][A-Za-z0-9._-]*|\\{(name|namespace)\\}))+$',
    description:
      'An endpoint of the plugin, to which it sends a POST. On a tab, and for an action, {name} and {namespace} are those of the object.',
  },
  body: {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    description: 'What it sends to path. Default: nothing.',
  },
  patch: {
    type: 'object',
    minProperties: 1,
    properties: { metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    'x-kubernetes-preserve-unknown-fields': true,
    description: 'Instead of path, on a tab and for an action: a merge patch of the object.',
  },
  confirm: { type: 'string', minLength: 1, maxLength: 1000, description: 'Asked before it is sent.' },
  done: {
    type: 'string',
    minLength: 1,
    maxLength: 1000,
    description: 'Said after it, unless the answer has a message.',
  },
};
const oneRequest = [{ required: ['path'] }, { required: ['patch'] }];

const button: JsonSchema = {
  type: 'object',
  required: ['label'],
  oneOf: oneRequest,
  properties: { label: title, ...requestFields },
};

const content: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: 20,
  description: 'Parts that the console itself shows, without code of the plugin, one below the other.',
  items: {
    type: 'object',
    oneOf: ['text', 'list', 'form', 'plot', 'buttons'].map((part) => ({ required: [part] })),
    properties: {
      title: { ...title, description: 'Above the part.' },
      text: { type: 'string', minLength: 1, maxLength: 10_000, description: 'An empty line begins a paragraph.' },
      list: { type: 'object', required: ['model'], properties: listFields, description: 'Objects of a model.' },
      form: {
        type: 'object',
        required: ['model'],
        properties: { model, namespace },
        description: 'For a new object of a model.',
      },
      plot: {
        type: 'object',
        required: ['model', 'index'],
        properties: {
          model,
          index: { type: 'string', minLength: 1, maxLength: 253, description: 'Of one value.' },
          namespace,
          fields,
          labels,
        },
        description: 'How many objects have which value of an index.',
      },
      buttons: { type: 'array', minItems: 1, maxItems: 10, items: button },
    },
  },
};

const spec: JsonSchema = {
  type: 'object',
  required: ['title'],
  oneOf: [{ required: ['frame'] }, { required: ['content'] }, { required: ['action'] }],
  properties: {
    title: { ...title, description: 'What people call it.' },
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
    place: {
      type: 'string',
      enum: ['page', 'overview', 'objectTab', 'objectAction', 'command', 'userCenter'],
      description:
        'A page of its own, a part of the overview, a tab of each object of a model, an action of objects of a model, a command of the palette, a page of the user center. Default: page.',
    },
    model: { ...model, description: 'Whose objects have the tab or the action: posts.blog.example.com.' },
    objects: {
      type: 'string',
      enum: ['one', 'many'],
      description: 'Whether an action is for one object only, or for selected ones, too. Default: many.',
    },
    content,
    action: {
      type: 'object',
      oneOf: oneRequest,
      properties: requestFields,
      description: 'What an action or a command sends, without code of the plugin; an action, once for each object.',
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
