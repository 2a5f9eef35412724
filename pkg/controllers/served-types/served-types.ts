import {
  whenAborted,
  type ClientEvent,
  type Model,
  type Reader,
  type ResourceType,
  type Stored,
  type Watcher,
} from '#pkg/apimachinery/index';
import { formatGroupResource } from '#pkg/apimachinery/index';
import {
  builtinModels,
  definitionType,
  isDefinition,
  isEstablished,
  modelFromDefinition,
  type CustomResourceDefinition,
} from '#pkg/apis/index';
import { Reflector, type Log, type Source } from '#pkg/runtime/index';

/** Gets the types that start or stop being served. Runs synchronously. */
export interface TypeListener {
  /** The listener must treat every change of its objects after this revision as new. */
  joined(type: ResourceType, resourceVersion: string): void;
  left(type: ResourceType): void;
}

/** Delays between failed tries: the first and the longest. Milliseconds, default 200 and 30 000. */
export interface Backoff {
  baseMs: number;
  maxMs: number;
}

export interface ServedTypesOptions {
  client: Reader & Watcher;
  log: Log;
  backoff?: Backoff;
}

/**
 * The served types, each in one version: built-in ones and those of definitions. Caches nothing else of the
 * definitions.
 */
export class ServedTypes implements Source {
  readonly #reflector: Reflector<CustomResourceDefinition>;
  readonly #byResource = new Map<string, ResourceType>();
  readonly #byKind = new Map<string, ResourceType>();
  #listener: TypeListener | undefined;
  /** The revision of the known definitions; revisions are global to all types. */
  #revision = '';
  #synced: () => void = () => undefined;
  #problem: unknown;

  constructor({ client, log, backoff }: ServedTypesOptions) {
    for (const model of builtinModels) this.#put(typeOf(model));
    const sink = {
      replace: (definitions: readonly Stored<CustomResourceDefinition>[], revision: string) =>
        this.#replace(definitions, revision),
      apply: (event: ClientEvent<CustomResourceDefinition>) => this.#apply(event),
      failing: (problem: unknown) => void (this.#problem = problem),
    };
    this.#reflector = new Reflector({
      client,
      type: definitionType,
      sink,
      log,
      ...(backoff === undefined ? {} : { backoff }),
    });
  }

  /** Also reports the existing types. Call it after `start` has resolved. */
  listen(listener: TypeListener): void {
    this.#listener = listener;
    for (const type of this.#byResource.values()) listener.joined(type, this.#revision);
  }

  all(): ResourceType[] {
    return [...this.#byResource.values()];
  }

  /** `resource` as in `posts.blog.example.com`. */
  ofResource(resource: string): ResourceType | undefined {
    return this.#byResource.get(resource);
  }

  /** In any version. */
  ofKind(group: string, kind: string): ResourceType | undefined {
    return this.#byKind.get(kindKey({ group, kind }));
  }

  start(_enqueue: unknown, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      this.#synced = () => resolve(true);
      whenAborted(signal, () => resolve(false));
      if (!signal.aborted) this.#reflector.start();
    });
  }

  problem(): unknown {
    return this.#problem;
  }

  async stop(): Promise<void> {
    this.#listener = undefined;
    await this.#reflector.stop();
  }

  #replace(definitions: readonly Stored<CustomResourceDefinition>[], revision: string): void {
    this.#revision = revision;
    const builtin = new Set(builtinModels.map((model) => resourceKey(typeOf(model)!)));
    const names = new Set(definitions.map(({ metadata }) => metadata.name));
    for (const resource of this.#byResource.keys())
      if (!names.has(resource) && !builtin.has(resource)) this.#remove(resource);
    for (const definition of definitions) this.#set(definition);
    this.#synced();
  }

  #apply(event: ClientEvent<CustomResourceDefinition>): void {
    this.#revision = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') return;
    if (event.type === 'DELETED') this.#remove(event.object.metadata.name);
    else this.#set(event.object);
  }

  #set(definition: CustomResourceDefinition): void {
    const { name } = definition.metadata;
    const type =
      isDefinition(definition) && isEstablished(definition) ? typeOf(modelFromDefinition(definition)) : undefined;
    const present = this.#byResource.get(name);
    if (present !== undefined && type !== undefined && isSame(present, type)) return;
    if (present !== undefined) this.#remove(name);
    // A definition that clashes with a built-in model is never established.
    if (type !== undefined && resourceKey(type) === name) this.#put(type);
  }

  #put(type: ResourceType | undefined): void {
    if (type === undefined) return;
    this.#byResource.set(resourceKey(type), type);
    this.#byKind.set(kindKey(type), type);
    this.#listener?.joined(type, this.#revision);
  }

  #remove(resource: string): void {
    const type = this.#byResource.get(resource);
    if (type === undefined) return;
    this.#byResource.delete(resource);
    if (this.#byKind.get(kindKey(type)) === type) this.#byKind.delete(kindKey(type));
    this.#listener?.left(type);
  }
}

/** `posts.blog.example.com` */
export function resourceKey({ group, plural }: ResourceType): string {
  return formatGroupResource({ group, resource: plural });
}

/** `blog.example.com/Post` */
export function kindKey({ group, kind }: { group: string; kind: string }): string {
  return `${group}/${kind}`;
}

/** The storage version if it is served, else the first served one; undefined if none is. */
function typeOf({ group, names, scope, versions, storageVersion }: Model): ResourceType | undefined {
  const served = versions.filter((version) => version.served);
  const version = served.find(({ name }) => name === storageVersion) ?? served[0];
  if (version === undefined) return undefined;
  return {
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    namespaced: scope === 'Namespaced',
    hasStatusSubresource: version.subresources.status,
  };
}

function isSame(a: ResourceType, b: ResourceType): boolean {
  return a.version === b.version && a.kind === b.kind && a.namespaced === b.namespaced;
}
