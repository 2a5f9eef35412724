import type { Model, ModelNames, ModelVersion, WebhookConversion } from '#pkg/apimachinery/index';
import {
  isEstablished,
  type CustomResourceDefinition,
  type DefinitionNames,
  type DefinitionVersion,
  type WebhookService,
} from './definition.ts';
import { mergedIndexes, withSchemaDefaults } from './definition-indexes.ts';
import { compareVersions } from './version-priority.ts';

/**
 * The model that a valid definition declares, for the registry; versions in order of preference. An established
 * definition is served under its accepted names, so a new name that clashes never takes effect. Indexes read stored
 * objects: where a webhook converts, only the storage version has the fields that they name.
 */
export function modelFromDefinition(definition: CustomResourceDefinition): Model {
  const { spec } = definition;
  const versions = spec.versions.toSorted((a, b) => compareVersions(a.name, b.name));
  const stored = spec.versions.find(({ storage }) => storage) ?? versions[0];
  const conversion = webhookConversion(definition);
  const isIndexed = (version: DefinitionVersion): boolean => conversion === undefined || version === stored;
  const indexed = versions.filter(isIndexed);
  return {
    group: spec.group,
    names: modelNames(servedNames(definition)),
    scope: spec.scope,
    versions: versions.map((version) => ({
      ...modelVersion(version),
      ...(isIndexed(version) ? {} : { selectableFields: [] }),
      served: isVersionServed(definition, version),
    })),
    storageVersion: stored?.name ?? '',
    indexes: withSchemaDefaults(mergedIndexes(indexed), stored?.schema?.openAPIV3Schema),
    nameRule: 'model',
    ...(conversion === undefined ? {} : { conversion }),
    ...keyScriptOf(indexed),
  };
}

function webhookConversion({ spec: { conversion } }: CustomResourceDefinition): WebhookConversion | undefined {
  const config = conversion?.strategy === 'Webhook' ? conversion.webhook?.clientConfig : undefined;
  if (config === undefined) return undefined;
  const { url, service, caBundle } = config;
  return {
    url: url ?? (service === undefined ? '' : serviceUrl(service)),
    ...(caBundle === undefined || caBundle === '' ? {} : { caBundle }),
  };
}

/** The name by which Kubernetes calls a Service, and which the webhook's certificate is for. */
function serviceUrl({ name, namespace, port = 443, path = '' }: WebhookService): string {
  return new URL(path, `https://${name}.${namespace}.svc:${port}`).href;
}

/**
 * While a definition is being deleted its objects stay reachable, so that finalizers can be removed: if no version is
 * served, in the storage version.
 */
export function isVersionServed({ metadata, spec }: CustomResourceDefinition, version: DefinitionVersion): boolean {
  return (
    version.served ||
    (metadata.deletionTimestamp !== undefined && version.storage && !spec.versions.some(({ served }) => served))
  );
}

function keyScriptOf(versions: readonly DefinitionVersion[]): Pick<Model, 'keyScript'> {
  const keyScript = versions.find(({ indexes = [] }) => indexes.some(({ key }) => key !== undefined))?.indexKeys;
  return keyScript === undefined ? {} : { keyScript };
}

function servedNames(definition: CustomResourceDefinition): DefinitionNames {
  const { names } = definition.spec;
  return isEstablished(definition)
    ? { plural: names.plural, kind: names.kind, ...definition.status?.acceptedNames }
    : names;
}

function modelNames(names: DefinitionNames): ModelNames {
  return {
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
  };
}

function modelVersion(version: DefinitionVersion): Omit<ModelVersion, 'served'> {
  const { subresources } = version;
  return {
    name: version.name,
    deprecated: version.deprecated ?? false,
    ...(version.deprecationWarning === undefined ? {} : { deprecationWarning: version.deprecationWarning }),
    schema: version.schema?.openAPIV3Schema ?? { type: 'object' },
    subresources: {
      status: subresources?.status !== undefined,
      ...(subresources?.scale === undefined ? {} : { scale: subresources.scale }),
    },
    printerColumns: version.additionalPrinterColumns ?? [],
    selectableFields: version.selectableFields?.map(({ jsonPath }) => jsonPath) ?? [],
  };
}
