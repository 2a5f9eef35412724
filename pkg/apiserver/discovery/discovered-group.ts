import { createHash } from 'node:crypto';
import { formatApiVersion, type GroupVersionKind, type Model, type ModelVersion } from '#pkg/apimachinery/index';
import { compareVersions } from '#pkg/apis/index';
import type { RegisteredModel } from '../rest/served-resource.ts';
import { scaleKind } from '../rest/scale-object.ts';

/** One resource of one version in discovery. */
export interface DiscoveredResource {
  model: Model;
  version: ModelVersion;
  terminating: boolean;
  /** Set if it does not support all verbs. */
  verbs?: readonly string[] | undefined;
}

export interface DiscoveredVersion {
  name: string;
  /** Sorted by plural. */
  resources: DiscoveredResource[];
}

export interface DiscoveredGroup {
  /** '' for the core group. */
  name: string;
  /** The preferred one first; never empty. */
  versions: DiscoveredVersion[];
}

export interface DiscoveredSubresource {
  name: 'status' | 'scale';
  kind: GroupVersionKind;
  verbs: string[];
}

/**
 * Groups with at least one served version: the server's own first (clients prefer the first group that knows a short
 * name), then by name. Versions are stable before beta before alpha, newer first.
 */
export function discoverGroups(models: readonly RegisteredModel[]): DiscoveredGroup[] {
  const groups = new Map<string, { builtin: boolean; versions: Map<string, DiscoveredResource[]> }>();
  for (const { model, terminating, fromDefinition, verbs } of models) {
    for (const version of model.versions.filter(({ served }) => served)) {
      const group = groups.get(model.group) ?? { builtin: false, versions: new Map<string, DiscoveredResource[]>() };
      groups.set(model.group, group);
      group.builtin ||= !fromDefinition;
      const resources = group.versions.get(version.name) ?? [];
      group.versions.set(version.name, resources);
      resources.push({ model, version, terminating, verbs });
    }
  }
  return [...groups]
    .toSorted(([a, left], [b, right]) => Number(right.builtin) - Number(left.builtin) || compareText(a, b))
    .map(([name, { versions }]) => ({ name, versions: sortedVersions(versions) }));
}

/**
 * While its definition is being deleted, `create` is refused; as in Kubernetes, `patch` and `update` are not listed
 * either, though they are served.
 */
export function verbsOf({ terminating, verbs }: DiscoveredResource): string[] {
  if (verbs !== undefined) return [...verbs];
  const lasting = ['delete', 'deletecollection', 'get', 'list', 'watch'];
  return terminating ? lasting : [...lasting, 'create', 'patch', 'update'].toSorted();
}

export function subresourcesOf({ model, version }: DiscoveredResource): DiscoveredSubresource[] {
  const verbs = ['get', 'patch', 'update'];
  const found: DiscoveredSubresource[] = [];
  if (version.subresources.status) found.push({ name: 'status', kind: discoveredKind({ model, version }), verbs });
  if (version.subresources.scale !== undefined) found.push({ name: 'scale', kind: scaleKind, verbs });
  return found;
}

export function discoveredKind({ model, version }: Pick<DiscoveredResource, 'model' | 'version'>): GroupVersionKind {
  return { group: model.group, version: version.name, kind: model.names.kind };
}

/** Changes with the storage version. Source: k8s.io/apiserver/pkg/endpoints/discovery StorageVersionHash. */
export function storageVersionHash({ group, storageVersion, names }: Model): string {
  const stored = `${formatApiVersion({ group, version: storageVersion })}/${names.kind}`;
  return createHash('sha256').update(stored).digest().subarray(0, 8).toString('base64');
}

function sortedVersions(versions: ReadonlyMap<string, DiscoveredResource[]>): DiscoveredVersion[] {
  return [...versions]
    .toSorted(([a], [b]) => compareVersions(a, b))
    .map(([name, resources]) => ({
      name,
      resources: resources.toSorted((a, b) => compareText(a.model.names.plural, b.model.names.plural)),
    }));
}

/** By code units: the same on every replica and in every locale. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
