import type { JsonObject } from '#pkg/apimachinery/index';
import type { ModelRegistry } from '../rest/served-resource.ts';
import { apiGroupDiscoveryList, type AggregatedVersion } from './aggregated-discovery.ts';
import { newDocument, type ServedDocument } from './answer-document.ts';
import { discoverGroups, type DiscoveredGroup } from './discovered-group.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy-discovery.ts';

export interface DiscoveryFormat {
  type: 'application/json';
  parameters?: { g: string; v: AggregatedVersion; as: string };
}

/** The discovery documents of a registry, each created at its first request and kept until the registry changes. */
export class DiscoveryDocuments {
  readonly #registry: Pick<ModelRegistry, 'models' | 'generation'>;
  #generation: number | undefined;
  #groups: DiscoveredGroup[] = [];
  readonly #made = new Map<string, ServedDocument>();

  constructor(registry: Pick<ModelRegistry, 'models' | 'generation'>) {
    this.#registry = registry;
  }

  /** `segments` of the path, `['apis', group, version]`; undefined for a group or version that is not served. */
  find(segments: readonly string[], { parameters }: DiscoveryFormat): ServedDocument | undefined {
    this.#refresh();
    const key = [parameters?.v ?? '', ...segments].join('/');
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const body = parameters === undefined ? this.#legacy(segments) : this.#aggregated(segments[0], parameters.v);
    if (body === undefined) return undefined;
    const contentType =
      parameters === undefined
        ? 'application/json'
        : `application/json;g=${parameters.g};v=${parameters.v};as=${parameters.as}`;
    const document = newDocument(JSON.stringify(body), contentType);
    this.#made.set(key, document);
    return document;
  }

  #refresh(): void {
    if (this.#generation === this.#registry.generation) return;
    this.#generation = this.#registry.generation;
    this.#groups = discoverGroups(this.#registry.models());
    this.#made.clear();
  }

  #legacy([root, second, third]: readonly string[]): JsonObject | undefined {
    if (second === undefined) return root === 'api' ? apiVersions(this.#group('')) : apiGroupList(this.#groups);
    const group = this.#group(root === 'api' ? '' : second);
    const version = root === 'api' ? second : third;
    if (group === undefined || version === undefined) return group === undefined ? undefined : apiGroup(group);
    const found = group.versions.find(({ name }) => name === version);
    return found === undefined ? undefined : apiResourceList(group.name, found);
  }

  #aggregated(root: string | undefined, version: AggregatedVersion): JsonObject {
    const isCore = root === 'api';
    return apiGroupDiscoveryList(
      this.#groups.filter(({ name }) => (name === '') === isCore),
      version,
    );
  }

  #group(name: string): DiscoveredGroup | undefined {
    return this.#groups.find((group) => group.name === name);
  }
}
