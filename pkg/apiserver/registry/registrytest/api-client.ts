import type { ApiObject, JsonObject, Selector, StatusError } from '#pkg/apimachinery/index';
export { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { withManagedFields } from '#pkg/storage/index';
import type {
  ModelRegistry,
  ObjectText,
  ResourceStorage,
  SharedRepresentation,
  UpdateRequest,
  WatchSink,
  WatchStream,
} from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { WriteContext, type WriteContextOptions } from '../../rest/write-context.ts';

export const noSelector: Selector = { labels: [], fields: [] };

export interface WriteRecord extends WriteContext {
  warnings: string[];
}

/** A write context like the handlers create; warnings are recorded. */
export function writing(options: Partial<Omit<WriteContextOptions, 'warn'>> = {}): WriteRecord {
  const warnings: string[] = [];
  const context = new WriteContext({
    user: { name: 'test', uid: '', groups: [] },
    fieldValidation: 'Warn',
    signal: new AbortController().signal,
    warn: (text) => warnings.push(text),
    ...options,
  });
  return Object.assign(context, { warnings });
}

/** Short calls for the client of one resource. */
export class ApiClient {
  readonly storage: ResourceStorage;

  constructor(storage: ResourceStorage) {
    this.storage = storage;
  }

  /** Does not wait: the resource must already be served. */
  static of(registry: ModelRegistry, group: string, version: string, resource: string): ApiClient {
    const served = registry.find(group, version, resource);
    if (served === undefined) throw new Error(`${resource}.${group}/${version} is not served`);
    return new ApiClient(served.storage);
  }

  async create(object: JsonObject, context: WriteContext = writing(), namespace = ''): Promise<JsonApiObject> {
    return parse(await this.storage.create(namespace, object, context));
  }

  async get(name: string, namespace = ''): Promise<JsonApiObject> {
    return parse(await this.storage.get({ namespace, name }));
  }

  /** Like PUT: replaces the whole object. */
  async put(
    object: JsonObject,
    context: WriteContext = writing(),
    more: Partial<UpdateRequest> = {},
  ): Promise<JsonApiObject> {
    const { name, namespace = '' } = object['metadata'] as unknown as ApiObject['metadata'];
    return this.#update({ key: { namespace, name }, transform: () => object, ...more }, context);
  }

  /** Like PATCH: changes the current object. */
  async patch(
    name: string,
    change: (object: JsonApiObject) => void,
    context: WriteContext = writing(),
    more: Partial<UpdateRequest> = {},
  ): Promise<JsonApiObject> {
    const transform = (current: JsonApiObject): JsonObject => {
      delete current.metadata.resourceVersion;
      change(current);
      return current;
    };
    return this.#update({ key: { namespace: '', name }, transform, ...more }, context);
  }

  async delete(
    name: string,
    context: WriteContext = writing(),
    namespace = '',
  ): Promise<{ deleted: boolean; object: JsonApiObject }> {
    const { deleted, object } = await this.storage.delete({ key: { namespace, name }, preconditions: {} }, context);
    return { deleted, object: parse(object) };
  }

  async names(selector: Selector = noSelector): Promise<string[]> {
    const stream = await this.storage.stream({
      selector,
      sort: [],
      order: 'sort',
      signal: new AbortController().signal,
    });
    const names: string[] = [];
    for await (const batch of stream.objects) names.push(...batch.map(({ name }) => name));
    return names;
  }

  async watch(after: number, selector: Selector = noSelector, namespace?: string): Promise<Recorder> {
    const recorder = new Recorder();
    recorder.stream = await this.storage.watch({
      selector,
      after,
      sink: recorder,
      ...(namespace === undefined ? {} : { namespace }),
    });
    return recorder;
  }

  async #update(
    request: Pick<UpdateRequest, 'key' | 'transform'> & Partial<UpdateRequest>,
    context: WriteContext,
  ): Promise<JsonApiObject> {
    return parse(await this.storage.update({ subresource: '', preconditions: {}, ...request }, context));
  }
}

/** Records the events of a watch. */
export class Recorder implements WatchSink {
  readonly events: { type: string; object: JsonApiObject; shared: SharedRepresentation }[] = [];
  ended: string | undefined;
  stream: WatchStream | undefined;

  event(type: string, shared: SharedRepresentation): void {
    this.events.push({ type, object: parse(shared.text()), shared });
  }

  end(reason: string): void {
    this.ended = reason;
  }

  fail(error: StatusError): void {
    this.ended = error.message;
  }

  /** `ADDED a` */
  lines(): string[] {
    return this.events.map(({ type, object }) => `${type} ${object.metadata.name}`);
  }
}

export function parse({ text, managed }: ObjectText): JsonApiObject {
  return JSON.parse(withManagedFields(text, managed)) as JsonApiObject;
}

export function objectRevision({ metadata }: ApiObject): number {
  return Number(metadata.resourceVersion);
}
