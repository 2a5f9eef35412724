import type { JsonObject } from '#pkg/apimachinery/index';
import {
  discoveredKind,
  subresourcesOf,
  verbsOf,
  type DiscoveredGroup,
  type DiscoveredResource,
} from './discovered-group.ts';

export type AggregatedVersion = 'v2' | 'v2beta1';

/**
 * Groups with all their resources in one document; both versions have the same body. Source: apidiscovery.k8s.io/v2
 * APIGroupDiscoveryList.
 */
export function apiGroupDiscoveryList(groups: readonly DiscoveredGroup[], version: AggregatedVersion): JsonObject {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(apiGroupDiscovery),
  };
}

function apiGroupDiscovery({ name, versions }: DiscoveredGroup): JsonObject {
  return {
    metadata: name === '' ? {} : { name },
    versions: versions.map((version) => ({
      version: version.name,
      resources: version.resources.map(apiResourceDiscovery),
      freshness: 'Current',
    })),
  };
}

function apiResourceDiscovery(resource: DiscoveredResource): JsonObject {
  const { names, scope } = resource.model;
  const subresources = subresourcesOf(resource).map(({ name, kind, verbs }) => ({
    subresource: name,
    responseKind: { ...kind },
    verbs,
  }));
  return {
    resource: names.plural,
    responseKind: { ...discoveredKind(resource) },
    scope: scope === 'Namespaced' ? 'Namespaced' : 'Cluster',
    singularResource: names.singular,
    verbs: verbsOf(resource),
    ...(names.shortNames.length === 0 ? {} : { shortNames: names.shortNames }),
    ...(names.categories.length === 0 ? {} : { categories: names.categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}
