import {
  formatGroupResource,
  whenAborted,
  type ClientEvent,
  type Reader,
  type Stored,
  type Watcher,
} from '#pkg/apimachinery/index';
import {
  definitionType,
  isDefinition,
  isEstablished,
  isVersionServed,
  type CustomResourceDefinition,
} from '#pkg/apis/index';
import { Reflector, type Enqueue, type Log, type Source } from '#pkg/runtime/index';
import { isHeldByCollector } from '../garbage-collector/finish-owner.ts';

export interface ServedDefinitionsOptions {
  client: Reader & Watcher;
  log: Log;
}

/** The permission-related parts of a served definition. */
export interface ServedDefinition {
  uid: string;
  group: string;
  /** Plural and subresources, as rules name them. */
  resources: string[];
  /** Foreground deletion waits until it owns nothing any more. */
  isHeldByCollector: boolean;
}

/** The served definitions by name, without their other fields. Enqueues each that is added, changed or deleted. */
export class ServedDefinitions implements Source {
  readonly #reflector: Reflector<CustomResourceDefinition>;
  readonly #served = new Map<string, ServedDefinition>();
  #enqueue: Enqueue = () => undefined;
  #synced: () => void = () => undefined;
  #problem: unknown;

  constructor({ client, log }: ServedDefinitionsOptions) {
    const sink = {
      replace: (definitions: readonly Stored<CustomResourceDefinition>[]) => this.#replace(definitions),
      apply: (event: ClientEvent<CustomResourceDefinition>) => this.#apply(event),
      failing: (problem: unknown) => void (this.#problem = problem),
    };
    this.#reflector = new Reflector({ client, type: definitionType, sink, log });
  }

  get(name: string): ServedDefinition | undefined {
    return this.#served.get(name);
  }

  start(enqueue: Enqueue, signal: AbortSignal): Promise<boolean> {
    this.#enqueue = enqueue;
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
    this.#enqueue = () => undefined;
    await this.#reflector.stop();
  }

  #replace(definitions: readonly Stored<CustomResourceDefinition>[]): void {
    const gone = new Set(this.#served.keys());
    for (const definition of definitions) {
      gone.delete(definition.metadata.name);
      this.#set(definition);
    }
    for (const name of gone) this.#remove(name);
    this.#synced();
  }

  #apply(event: ClientEvent<CustomResourceDefinition>): void {
    if (event.type === 'BOOKMARK') return;
    if (event.type === 'DELETED') this.#remove(event.object.metadata.name);
    else this.#set(event.object);
  }

  #set(definition: Stored<CustomResourceDefinition>): void {
    const { name, uid } = definition.metadata;
    // Skips fields that do not affect permissions, because a definition may be large.
    if (!isDefinition(definition) || !isEstablished(definition)) return this.#remove(name);
    const { group, names } = definition.spec;
    const resources = resourcesOf(definition);
    if (resources.length === 0 || formatGroupResource({ group, resource: names.plural }) !== name)
      return this.#remove(name);
    this.#served.set(name, { uid, group, resources, isHeldByCollector: isHeldByCollector(definition) });
    this.#look(name);
  }

  /** A definition that was not served before this process started may have roles too. */
  #remove(name: string): void {
    this.#served.delete(name);
    this.#look(name);
  }

  #look(name: string): void {
    this.#enqueue({ namespace: '', name });
  }
}

/** Empty if no version is served. */
function resourcesOf(definition: CustomResourceDefinition): string[] {
  const {
    names: { plural },
    versions,
  } = definition.spec;
  const served = versions.filter((version) => isVersionServed(definition, version));
  if (served.length === 0) return [];
  const hasStatus = served.some(({ subresources }) => subresources?.status !== undefined);
  const hasScale = served.some(({ subresources }) => subresources?.scale !== undefined);
  return [plural, ...(hasStatus ? [`${plural}/status`] : []), ...(hasScale ? [`${plural}/scale`] : [])];
}
