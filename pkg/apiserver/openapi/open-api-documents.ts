import { EventLoopTurns } from '#pkg/apimachinery/index';
import { newDocument, type ServedDocument } from '../discovery/answer-document.ts';
import { discoverGroups, type DiscoveredResource, type DiscoveredVersion } from '../discovery/discovered-group.ts';
import type { ModelRegistry, RegisteredModel } from '../rest/served-resource.ts';
import { FragmentCache, jsonWriters, type DocumentFragment } from './document-fragment.ts';
import { noEndpointDocuments, type EndpointDocuments } from './endpoint-documents.ts';
import { kubernetesDocument, kubernetesDocumentPath, kubernetesParts } from './kubernetes-document.ts';
import { referenceDocument, referenceParts, showsModels, type ReferenceName } from './reference-document.ts';
import { protobufWriters, swaggerJson, swaggerParts, swaggerProtobuf } from './swagger-document.ts';

export interface OpenApiDocumentsOptions {
  registry: ModelRegistry;
  /** An upgrade changes the documents even if the models are the same. */
  svcVersion: string;
  /** The URL of the server for clients. Default: where a document was fetched. */
  publicUrl?: string | undefined;
  /** Endpoints of plugins. Default: none. */
  endpoints?: EndpointDocuments;
}

/**
 * The OpenAPI documents of a registry's present models. Each is created at its first request and kept until the
 * registry changes; the part of a model is kept as long as the model, and created with pauses in which other requests
 * run.
 */
export class OpenApiDocuments {
  readonly #options: OpenApiDocumentsOptions & Required<Pick<OpenApiDocumentsOptions, 'endpoints'>>;
  readonly #kubernetesFragments = new FragmentCache(kubernetesParts, jsonWriters);
  readonly #referenceFragments = new FragmentCache(referenceParts, jsonWriters);
  readonly #swaggerFragments = new FragmentCache(swaggerParts, jsonWriters);
  readonly #protobufFragments = new FragmentCache(swaggerParts, protobufWriters);
  #generation = '';
  #state: RegistryState = newState([]);

  constructor(options: OpenApiDocumentsOptions) {
    this.#options = { endpoints: noEndpointDocuments, ...options };
  }

  /** `/openapi/v3`: the list of documents for Kubernetes' clients, with their hashes. */
  index(): Promise<ServedDocument> {
    const state = this.#current();
    return memoize(state, 'index', async () => {
      const turns = new EventLoopTurns();
      const paths: Record<string, { serverRelativeURL: string }> = {};
      for (const [path, version] of state.versions) {
        const { hash } = await this.#kubernetesDocument(state, path, version);
        paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
        if (turns.due) await turns.next();
      }
      return newDocument(JSON.stringify({ paths }));
    });
  }

  /** `path` is `apis/<group>/<version>` or `api/v1`; undefined for one that is not served. */
  kubernetes(path: string): Promise<ServedDocument> | undefined {
    const state = this.#current();
    const version = state.versions.get(path);
    return version === undefined ? undefined : this.#kubernetesDocument(state, path, version);
  }

  /** `/openapi/v2`: one document of all models, for older clients of Kubernetes. */
  swagger(format: 'json' | 'protobuf'): Promise<ServedDocument> {
    const state = this.#current();
    const { svcVersion } = this.#options;
    return memoize(state, `swagger ${format}`, async () =>
      format === 'json'
        ? swaggerJson(svcVersion, await fragmentsOf(resourcesOf(state), this.#swaggerFragments))
        : swaggerProtobuf(svcVersion, await fragmentsOf(resourcesOf(state), this.#protobufFragments)),
    );
  }

  reference(name: ReferenceName): Promise<ServedDocument> {
    const state = this.#current();
    const { svcVersion, publicUrl, endpoints } = this.#options;
    const mounted = [...endpoints.documents()];
    return memoize(state, `reference ${name}`, async () => {
      const resources = showsModels(name) ? resourcesOf(state) : [];
      return referenceDocument(name, {
        svcVersion,
        publicUrl,
        fragments: await fragmentsOf(resources, this.#referenceFragments),
        endpoints: mounted,
      });
    });
  }

  #kubernetesDocument(state: RegistryState, path: string, { resources }: DiscoveredVersion): Promise<ServedDocument> {
    return memoize(state, path, async () =>
      kubernetesDocument(this.#options.svcVersion, await fragmentsOf(resources, this.#kubernetesFragments)),
    );
  }

  /** Drops the documents of an older registry. */
  #current(): RegistryState {
    const { registry, endpoints } = this.#options;
    const generation = `${registry.generation}/${endpoints.generation}`;
    if (generation !== this.#generation) {
      this.#generation = generation;
      this.#state = newState(registry.models());
    }
    return this.#state;
  }
}

/**
 * The registry at one generation. The order does not depend on the order of registration, so replicas create the same
 * text.
 */
interface RegistryState {
  /** Keyed by the path of the document. */
  versions: ReadonlyMap<string, DiscoveredVersion>;
  made: Map<string, Promise<ServedDocument>>;
}

function newState(models: readonly RegisteredModel[]): RegistryState {
  const versions = discoverGroups(models).flatMap(({ name: group, versions: all }) =>
    all.map((version) => [kubernetesDocumentPath({ group, version: version.name }), version] as const),
  );
  return { versions: new Map(versions), made: new Map() };
}

function resourcesOf({ versions }: RegistryState): DiscoveredResource[] {
  return [...versions.values()].flatMap(({ resources }) => resources);
}

/** Concurrent requests share one creation. */
function memoize({ made }: RegistryState, key: string, make: () => Promise<ServedDocument>): Promise<ServedDocument> {
  const known = made.get(key);
  if (known !== undefined) return known;
  const making = make();
  made.set(key, making);
  making.catch(() => made.delete(key));
  return making;
}

async function fragmentsOf<Piece extends string | Buffer>(
  resources: readonly DiscoveredResource[],
  cache: FragmentCache<Piece>,
): Promise<DocumentFragment<Piece>[]> {
  const turns = new EventLoopTurns();
  const fragments: DocumentFragment<Piece>[] = [];
  for (const { model, version } of resources) {
    const fragment = cache.get(model, version);
    fragments.push(fragment instanceof Promise ? await fragment : fragment);
    if (turns.due) await turns.next();
  }
  return fragments;
}
