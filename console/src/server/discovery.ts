import { isStatusError, type JsonObject } from '@svc/client';
import { followChanges } from './follow-changes.ts';
import { apiVersionOf, type ModelInfo } from './model-info.ts';
import { Observable } from './observable.ts';
import { server } from './server.ts';

/** Another number whenever definitions may have changed: what is read from them is read again. */
export const definitionsVersion = new Observable(0);

/** Undefined until they are known. */
export const models = new Observable<readonly ModelInfo[] | undefined>(undefined);

interface DiscoveredResource {
  resource: string;
  responseKind: { kind: string };
  scope: 'Cluster' | 'Namespaced';
  verbs: string[];
  shortNames?: string[];
  subresources?: { subresource: string }[];
}

interface DiscoveryList {
  items: { metadata: { name?: string }; versions: { version: string; resources: DiscoveredResource[] }[] }[];
}

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export const definitionInfo: ModelInfo = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
  hasStatusSubresource: true,
  verbs: [],
  shortNames: [],
  versions: ['v1'],
};

/** Reads all models that can be listed. @throws StatusError */
export async function readModels(): Promise<readonly ModelInfo[]> {
  const [core, groups] = (await Promise.all(['/api', '/apis'].map((path) => server.read(path, { accept })))) as [
    DiscoveryList,
    DiscoveryList,
  ];
  const found = new Map<string, ModelInfo>();
  for (const { metadata, versions } of [...core.items, ...groups.items]) {
    const group = metadata.name ?? '';
    // The preferred version is the first.
    for (const { version, resources } of versions) {
      for (const each of resources) {
        const key = `${group}/${each.resource}`;
        const known = found.get(key);
        if (known !== undefined) found.set(key, { ...known, versions: [...known.versions, version] });
        else if (each.verbs.includes('list')) found.set(key, modelOf(group, version, each));
      }
    }
  }
  const known = new Map(models.get()?.map((model) => [JSON.stringify(model), model]));
  // An equal model stays the same value: what shows it is not read again because another one has changed.
  const read = [...found.values()].map((model) => known.get(JSON.stringify(model)) ?? model);
  const isSame = read.length === models.get()?.length && read.every((model, at) => model === models.get()?.[at]);
  if (!isSame) models.set(read);
  return read;
}

let early: Promise<readonly ModelInfo[] | undefined> | undefined;

/** Reads the models while the session is still asked for: where it has not ended, a list is there sooner. */
export function readModelsEarly(): void {
  early = readModels().catch(() => undefined);
}

/** Those that were read early, once; else reads them. @throws StatusError */
export async function takeModels(): Promise<readonly ModelInfo[]> {
  const taken = early;
  early = undefined;
  return (await taken) ?? readModels();
}

function modelOf(group: string, version: string, resource: DiscoveredResource): ModelInfo {
  return {
    group,
    version,
    kind: resource.responseKind.kind,
    plural: resource.resource,
    namespaced: resource.scope === 'Namespaced',
    hasStatusSubresource: resource.subresources?.some(({ subresource }) => subresource === 'status') ?? false,
    verbs: resource.verbs,
    shortNames: resource.shortNames ?? [],
    versions: [version],
  };
}

/** The model of an object, in the version that the object has. */
export function findModel(apiVersion: unknown, kind: unknown, all = models.get()): ModelInfo | undefined {
  for (const model of all ?? []) {
    const version = model.versions.find((each) => apiVersionOf({ ...model, version: each }) === apiVersion);
    if (version !== undefined && model.kind === kind) return { ...model, version };
  }
  return undefined;
}

/** Keeps `models` up to date until the signal aborts. Who may not watch definitions gets new models with a reload. */
export function followModels(signal: AbortSignal): void {
  const read = (): void => void readModels().catch(() => undefined);
  followChanges(server.resource(definitionInfo), {
    signal,
    onEvents: () => {
      read();
      definitionsVersion.set(definitionsVersion.get() + 1);
    },
    // Nobody is told: without the right to see definitions the list of models is that of the start.
    isEnd: (failure) => isStatusError(failure, 'Forbidden'),
  });
}

/** The definition of a model; undefined for a built-in one, and for who may not see definitions. */
export async function readDefinition({ group, plural }: ModelInfo): Promise<JsonObject | undefined> {
  if (group === '') return undefined;
  try {
    return (await server.resource(definitionInfo).get(`${plural}.${group}`)) as unknown as JsonObject;
  } catch (error) {
    if (isStatusError(error, 'NotFound') || isStatusError(error, 'Forbidden')) return undefined;
    throw error;
  }
}
