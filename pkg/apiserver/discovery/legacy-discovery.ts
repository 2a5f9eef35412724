import { formatApiVersion, type JsonObject } from '#pkg/apimachinery/index';
import {
  discoveredKind,
  storageVersionHash,
  subresourcesOf,
  verbsOf,
  type DiscoveredGroup,
  type DiscoveredResource,
  type DiscoveredVersion,
} from './discovered-group.ts';

/** `GET /api`. Source of this and the others: meta/v1 APIVersions, APIGroupList, APIGroup, APIResourceList. */
export function apiVersions(core: DiscoveredGroup | undefined): JsonObject {
  return {
    kind: 'APIVersions',
    versions: core?.versions.map(({ name }) => name) ?? [],
    serverAddressByClientCIDRs: [],
  };
}

/** `GET /apis`, without the core group. */
export function apiGroupList(groups: readonly DiscoveredGroup[]): JsonObject {
  return {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groups.filter(({ name }) => name !== '').map(groupVersions),
  };
}

/** `GET /apis/<group>` */
export function apiGroup(group: DiscoveredGroup): JsonObject {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupVersions(group) };
}

/** `GET /apis/<group>/<version>` and `GET /api/v1` */
export function apiResourceList(group: string, { name, resources }: DiscoveredVersion): JsonObject {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: formatApiVersion({ group, version: name }),
    resources: resources.flatMap((resource) => [apiResource(resource), ...apiSubresources(resource)]),
  };
}

function groupVersions({ name, versions }: DiscoveredGroup): JsonObject {
  const all = versions.map((version) => ({
    groupVersion: formatApiVersion({ group: name, version: version.name }),
    version: version.name,
  }));
  return { name, versions: all, preferredVersion: all[0]! };
}

function apiResource(resource: DiscoveredResource): JsonObject {
  const { names, scope } = resource.model;
  return {
    name: names.plural,
    singularName: names.singular,
    namespaced: scope === 'Namespaced',
    kind: names.kind,
    verbs: verbsOf(resource),
    ...(names.shortNames.length === 0 ? {} : { shortNames: names.shortNames }),
    ...(names.categories.length === 0 ? {} : { categories: names.categories }),
    storageVersionHash: storageVersionHash(resource.model),
  };
}

function apiSubresources(resource: DiscoveredResource): JsonObject[] {
  const { names, scope } = resource.model;
  const own = discoveredKind(resource);
  return subresourcesOf(resource).map(({ name, kind, verbs }) => ({
    name: `${names.plural}/${name}`,
    singularName: '',
    namespaced: scope === 'Namespaced',
    ...(kind.group === own.group && kind.version === own.version ? {} : { group: kind.group, version: kind.version }),
    kind: kind.kind,
    verbs,
  }));
}
