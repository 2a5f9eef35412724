import { conditionSchema } from '../meta/condition-schema.ts';
import type { JsonSchema, Model } from '#pkg/apimachinery/index';
import { pluginGroup, pluginType } from './plugin.ts';

/** Limit of rules in `spec.permissions`. */
export const maxPluginPermissions = 200;

const text: JsonSchema = { type: 'string' };
const texts: JsonSchema = { type: 'array', items: text };
const kept: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const spec: JsonSchema = {
  type: 'object',
  required: ['version'],
  properties: {
    displayName: { type: 'string', maxLength: 100 },
    description: { type: 'string', maxLength: 2000 },
    version: { type: 'string', maxLength: 100, description: 'Of the plugin, semver.' },
    requires: {
      type: 'string',
      maxLength: 200,
      description: 'Versions of the platform it works with, as a semver range.',
    },
    dependencies: {
      type: 'object',
      maxProperties: 100,
      additionalProperties: { type: 'string', maxLength: 200 },
      description: 'Plugins that must be started before it: semver ranges by their names.',
    },
    permissions: {
      type: 'array',
      maxItems: maxPluginPermissions,
      description: 'What its client may do: rules as a ClusterRole has them.',
      items: {
        type: 'object',
        required: ['apiGroups', 'resources', 'verbs'],
        properties: { apiGroups: texts, resources: texts, verbs: texts, resourceNames: texts },
      },
    },
    main: {
      type: 'string',
      maxLength: 200,
      description: 'Its module, relative to its folder. Default: index.ts, index.js or index.mjs.',
    },
    enabled: { type: 'boolean', default: false, description: 'Starts and stops it.' },
    environment: {
      type: 'array',
      maxItems: 100,
      items: { type: 'string', maxLength: 200 },
      description: "Names of the variables of the host's environment that it sees.",
    },
    limits: {
      type: 'object',
      properties: {
        memoryMiB: { type: 'integer', minimum: 16, maximum: 4096, description: "Of its worker's heap. Default 128." },
        startSeconds: { type: 'integer', minimum: 1, maximum: 300, description: 'For its module to load. Default 30.' },
        blockedSeconds: {
          type: 'integer',
          minimum: 1,
          maximum: 300,
          description: 'How long its worker may be busy with one thing before it counts as hung. Default 10.',
        },
      },
    },
    settings: {
      type: 'object',
      required: ['apiVersion', 'kind', 'name'],
      properties: Object.fromEntries(
        ['apiVersion', 'kind', 'namespace', 'name'].map((field) => [field, { ...text, maxLength: 253 }]),
      ),
      description: 'The object that holds its settings, of a model of its own.',
    },
  },
};

const condition: JsonSchema = {
  ...conditionSchema,
  properties: { ...conditionSchema.properties, observedGeneration: { type: 'integer', format: 'int64' } },
};

const endpoint: JsonSchema = {
  type: 'object',
  required: ['audience', 'group', 'version', 'method', 'path', 'operationId'],
  properties: {
    audience: { type: 'string', enum: ['console', 'uc', 'public'] },
    group: text,
    version: text,
    method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
    path: text,
    operationId: text,
    summary: text,
    description: text,
    params: kept,
    query: kept,
    body: kept,
    response: kept,
  },
};

const preset: JsonSchema = {
  type: 'object',
  required: ['apiVersion', 'kind', 'name'],
  properties: {
    apiVersion: text,
    kind: text,
    namespace: text,
    name: text,
    adopted: { type: 'boolean' },
    kept: { type: 'boolean' },
  },
};

const status: JsonSchema = {
  type: 'object',
  properties: {
    phase: { type: 'string', enum: ['Disabled', 'Starting', 'Started', 'Stopping', 'Failed'] },
    observedGeneration: { type: 'integer', format: 'int64' },
    version: { type: 'string', description: 'The version that was started last.' },
    conditions: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: condition,
    },
    models: { ...texts, description: 'Names of the definitions it registered.' },
    controllers: { ...texts, description: 'Names of the controllers that it runs.' },
    endpoints: { type: 'array', items: endpoint },
    presets: { type: 'array', items: preset, description: 'What it shipped.' },
    host: { type: 'object', required: ['url'], properties: { url: text }, description: 'Where its worker runs.' },
    restarts: {
      type: 'integer',
      minimum: 0,
      description: 'How often its worker has ended by itself since it was started.',
    },
  },
};

/** A plugin of the plugins folder: its manifest, whether to run it, and its status. */
export const pluginModel: Model = {
  group: pluginGroup,
  names: {
    plural: pluginType.plural,
    singular: 'plugin',
    kind: pluginType.kind,
    listKind: 'PluginList',
    shortNames: [],
    categories: [],
  },
  scope: 'Cluster',
  versions: [
    {
      name: pluginType.version,
      served: true,
      deprecated: false,
      schema: {
        type: 'object',
        required: ['spec'],
        properties: { apiVersion: text, kind: text, metadata: { type: 'object' }, spec, status },
      },
      subresources: { status: true },
      printerColumns: [
        { name: 'Version', type: 'string', jsonPath: '.spec.version' },
        { name: 'Enabled', type: 'boolean', jsonPath: '.spec.enabled' },
        { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
        { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
      ],
      selectableFields: ['.status.phase'],
    },
  ],
  storageVersion: pluginType.version,
  indexes: [
    { name: 'status.phase', path: 'status.phase', type: 'string', multi: false, unique: false, nullable: true },
  ],
  nameRule: 'model',
};
