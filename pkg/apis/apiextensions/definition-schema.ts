import { maxIndexes, type JsonSchema } from '#pkg/apimachinery/index';

/**
 * Limits of one definition, so that hostile ones are cheap to check and to answer. The limit of selectable fields is
 * Kubernetes'.
 */
const maxVersions = 20;
const maxSelectableFields = 8;
const maxNames = 32;
const maxPrinterColumns = 128;

const text: JsonSchema = { type: 'string' };
const flag: JsonSchema = { type: 'boolean' };
const anyObject: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function object(properties: Record<string, JsonSchema>, required: string[] = []): JsonSchema {
  return required.length === 0 ? { type: 'object', properties } : { type: 'object', required, properties };
}

function list(items: JsonSchema, maxItems?: number): JsonSchema {
  return maxItems === undefined ? { type: 'array', items } : { type: 'array', items, maxItems };
}

const nameProperties: Record<string, JsonSchema> = {
  plural: text,
  singular: text,
  kind: text,
  listKind: text,
  shortNames: list(text, maxNames),
  categories: list(text, maxNames),
};

const printerColumn = object(
  {
    name: text,
    type: text,
    format: text,
    description: text,
    priority: { type: 'integer', format: 'int32' },
    jsonPath: text,
  },
  ['name', 'type', 'jsonPath'],
);

const index = object({ name: text, path: text, key: text, type: text, multi: flag, unique: flag, nullable: flag }, [
  'name',
  'type',
]);

const version = object(
  {
    name: text,
    served: flag,
    storage: flag,
    deprecated: flag,
    deprecationWarning: text,
    schema: object({ openAPIV3Schema: anyObject }),
    subresources: object({
      status: anyObject,
      scale: object({ specReplicasPath: text, statusReplicasPath: text, labelSelectorPath: text }, [
        'specReplicasPath',
        'statusReplicasPath',
      ]),
    }),
    additionalPrinterColumns: list(printerColumn, maxPrinterColumns),
    selectableFields: list(object({ jsonPath: text }, ['jsonPath']), maxSelectableFields),
    indexes: list(index, maxIndexes),
    indexKeys: text,
  },
  ['name', 'served', 'storage'],
);

const webhook = object(
  {
    clientConfig: object({
      url: text,
      service: object({ name: text, namespace: text, path: text, port: { type: 'integer', format: 'int32' } }, [
        'name',
        'namespace',
      ]),
      caBundle: { type: 'string', format: 'byte' },
    }),
    conversionReviewVersions: list(text, maxNames),
  },
  ['conversionReviewVersions'],
);

const condition = object(
  {
    type: text,
    status: text,
    reason: text,
    message: text,
    lastTransitionTime: { type: 'string', format: 'date-time' },
    observedGeneration: { type: 'integer', format: 'int64' },
  },
  ['type', 'status'],
);

/**
 * The built-in schema of a definition: types, required fields and limits. validateDefinition checks the meaning of the
 * fields.
 */
export const definitionSchema: JsonSchema = object(
  {
    apiVersion: text,
    kind: text,
    metadata: { type: 'object' },
    spec: object(
      {
        group: text,
        names: object(nameProperties, ['plural', 'kind']),
        scope: text,
        versions: list(version, maxVersions),
        conversion: object({ strategy: text, webhook }, ['strategy']),
        preserveUnknownFields: flag,
      },
      ['group', 'names', 'scope', 'versions'],
    ),
    status: object({
      conditions: { ...list(condition), 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
      acceptedNames: object(nameProperties),
      storedVersions: list(text),
    }),
  },
  ['spec'],
);
