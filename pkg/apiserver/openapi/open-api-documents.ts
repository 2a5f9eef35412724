import { EventLoopTurns } from '#pkg/apimachinery/index';
import { newDocument, type ServedDocument } from '../discovery/answer-document.ts';
import { discoverGroups, type DiscoveredResource, type DiscoveredVersion } from '../discovery/discovered-group.ts';
import type { ModelRegistry, RegisteredModel } from '../rest/served-resource.ts';
import { FragmentCache, type DocumentFragment } from './document-fragment.ts';
import { noEndpointDocuments, type EndpointDocuments } from './endpoint-documents.ts';
import { kubernetesDocument, kubernetesDocumentPath, kubernetesParts } from './kubernetes-document.ts';
import { referenceDocument, referenceParts, showsModels, type ReferenceName } from './reference-document.ts';

export interface OpenApiDocumentsOptions {
  registry: ModelRegistry;
  /** Documents are another's after an upgrade, though the models are the same. */
  svcVersion: string;
  /** By which clients know the server. Default: where a document was fetched. */
  publicUrl?: string | undefined;
  /** What plugins mount. Default: nothing. */
  endpoints?: EndpointDocuments;
}

/**
 * The OpenAPI documents of a registry as it is now. Each is made when first asked for and kept until the registry
 * changes; the part of a model is kept as long as the model, and made with pauses in which other requests run.
 */
export class OpenApiDocuments {
  private readonly options: OpenApiDocumentsOptions & Required<Pick<OpenApiDocumentsOptions, 'endpoints'>>;
  private readonly kubernetesFragments = new FragmentCache(kubernetesParts);
  private readonly referenceFragments = new FragmentCache(referenceParts);
  private generation = '';
  private state: RegistryState = newState([]);

  constructor(options: OpenApiDocumentsOptions) {
    this.options = { endpoints: noEndpointDocuments, ...options };
  }

  /** `/openapi/v3`: which documents there are for Kubernetes' clients, with their hashes. */
  index(): Promise<ServedDocument> {
    const state = this.current();
    return keep(state, 'index', async () => {
      const turns = new EventLoopTurns();
      const paths: Record<string, { serverRelativeURL: string }> = {};
      for (const [path, version] of state.versions) {
        const { hash } = await this.kubernetesDocument(state, path, version);
        paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
        if (turns.due) await turns.next();
      }
      return newDocument(JSON.stringify({ paths }));
    });
  }

  /** `path` is `apis/<group>/<version>` or `api/v1`; undefined for one that is not served. */
  kubernetes(path: string): Promise<ServedDocument> | undefined {
    const state = this.current();
    const version = state.versions.get(path);
    return version === undefined ? undefined : this.kubernetesDocument(state, path, version);
  }

  reference(name: ReferenceName): Promise<ServedDocument> {
    const state = this.current();
    const { svcVersion, publicUrl, endpoints } = this.options;
    const mounted = [...endpoints.documents()];
    return keep(state, `reference ${name}`, async () => {
      const resources = showsModels(name) ? [...state.versions.values()].flatMap((version) => version.resources) : [];
      return referenceDocument(name, {
        svcVersion,
        publicUrl,
        fragments: await fragmentsOf(resources, this.referenceFragments),
        endpoints: mounted,
      });
    });
  }

  private kubernetesDocument(
    state: RegistryState,
    path: string,
    { resources }: DiscoveredVersion,
  ): Promise<ServedDocument> {
    return keep(state, path, async () =>
      kubernetesDocument(this.options.svcVersion, await fragmentsOf(resources, this.kubernetesFragments)),
    );
  }

  /** What was made for an older registry is dropped with it. */
  private current(): RegistryState {
    const { registry, endpoints } = this.options;
    const generation = `${registry.generation}/${endpoints.generation}`;
    if (generation !== this.generation) {
      this.generation = generation;
      this.state = newState(registry.models());
    }
    return this.state;
  }
}

/**
 * The registry at one generation, in an order that does not depend on that of registration: replicas give the same
 * text.
 */
interface RegistryState {
  /** By the path of the document. */
  versions: ReadonlyMap<string, DiscoveredVersion>;
  made: Map<string, Promise<ServedDocument>>;
}

function newState(models: readonly RegisteredModel[]): RegistryState {
  const versions = discoverGroups(models).flatMap(({ name: group, versions: all }) =>
    all.map((version) => [kubernetesDocumentPath({ group, version: version.name }), version] as const),
  );
  return { versions: new Map(versions), made: new Map() };
}

/** One making serves all who ask meanwhile. */
function keep({ made }: RegistryState, key: string, make: () => Promise<ServedDocument>): Promise<ServedDocument> {
  const known = made.get(key);
  if (known !== undefined) return known;
  const making = make();
  made.set(key, making);
  making.catch(() => made.delete(key));
  return making;
}

async function fragmentsOf(
  resources: readonly DiscoveredResource[],
  cache: FragmentCache,
): Promise<DocumentFragment[]> {
  const turns = new EventLoopTurns();
  const fragments: DocumentFragment[] = [];
  for (const { model, version } of resources) {
    const fragment = cache.get(model, version);
    fragments.push(fragment instanceof Promise ? await fragment : fragment);
    if (turns.due) await turns.next();
  }
  return fragments;
}
