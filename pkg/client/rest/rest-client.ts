import type { IncomingMessage } from 'node:http';
import {
  checkDeletePreconditions,
  checkNamespaceName,
  checkObjectKey,
  checkWatchStart,
  collectionPath,
  encodeRequestBody,
  fenceHeaders,
  gatherList,
  isJsonObject,
  listSearchParams,
  objectPath,
  parseRetryAfter,
  selectionQuery,
  StatusError,
  whenAborted,
  writeQuery,
  type AnyObject,
  type ApplyConfiguration,
  type ApplyOptions,
  type ChunkOptions,
  type Client,
  type DeleteOptions,
  type Deletion,
  type EventStream,
  type JsonObject,
  type ListOptions,
  type ObjectKey,
  type ObjectList,
  type Patch,
  type ReadOptions,
  type RequestOptions,
  type ResourceType,
  type Stored,
  type WatchOptions,
  type WriteOptions,
} from '#pkg/apimachinery/index';
import { emptyEventStream } from '../stream/empty-event-stream.ts';
import { impersonatingEndpoint, type ImpersonatedUser } from './impersonating-endpoint.ts';
import { CallSet } from './call-set.ts';
import { fixedEndpoint, type ServerEndpoint } from './server-endpoint.ts';
import { KubeConfigEndpoint, type LoadedKubeConfig } from './kube-config.ts';
import { readAnswer, warningTexts } from './read-answer.ts';
import { RestEventStream } from './rest-event-stream.ts';
import { defaultRestLimits, type RestLimits } from './rest-limits.ts';
import { isTransientFailure, retryReads, TryAgainError } from './retry-reads.ts';
import { Transport, userAgent, type OutgoingRequest } from './transport.ts';

export interface RestClientOptions {
  /** Called with the text of each Warning header. */
  warn?: (text: string) => void;
  /** Limits; defaults apply to those that are missing. */
  limits?: Partial<RestLimits>;
  /** The user to impersonate in every request. Default: none. */
  impersonate?: ImpersonatedUser;
  /** The manager of the fields that its writes set, where they name none. Default `svc`, which is its User-Agent. */
  fieldManager?: string;
}

export interface ConnectOptions extends RestClientOptions {
  /** `https://host:port`, with a path if the API is below one. `http` sends the token unencrypted. */
  url: string;
  token?: string;
  /**
   * PEM certificates to trust instead of the default ones. A function is called for each request, so that they can be
   * renewed; open streams stay.
   */
  ca?: string | (() => string);
}

/** Chunk size of a list without a limit. */
const chunkSize = 500;
const json = 'application/json';
const patchTypes: Readonly<Record<Patch['type'], string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};
/** JSON is YAML. */
const applyPatchType = 'application/apply-patch+yaml';

/**
 * Client over HTTP. Retries reads that the server answers with 429 or 503 and Retry-After, up to three times; never
 * retries writes. A request without a response fails with 503, one that times out with 504. The caller must close it.
 */
export class RestClient implements Client {
  readonly #transport: Transport;
  readonly #limits: RestLimits;
  readonly #warn: (text: string) => void;
  readonly #fieldManager: string | undefined;
  readonly #calls = new CallSet();
  readonly #streams = new Set<EventStream<AnyObject>>();

  private constructor(
    endpoint: ServerEndpoint,
    { warn = () => undefined, limits = {}, impersonate, fieldManager }: RestClientOptions,
  ) {
    this.#limits = { ...defaultRestLimits, ...limits };
    this.#transport = new Transport(
      impersonate === undefined ? endpoint : impersonatingEndpoint(endpoint, impersonate),
      this.#limits,
    );
    this.#warn = warn;
    this.#fieldManager = fieldManager;
  }

  /** @throws TypeError for an invalid URL, and for an `impersonate` that is invalid in a header */
  static connect({ url, token, ca, ...options }: ConnectOptions): RestClient {
    return new RestClient(fixedEndpoint(url, token, ca), options);
  }

  /** The server and user of its current context; see `loadKubeConfig`. @throws TypeError if it has no server */
  static fromKubeConfig(config: LoadedKubeConfig, options: RestClientOptions = {}): RestClient {
    return new RestClient(new KubeConfigEndpoint(config), options);
  }

  async get<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options: RequestOptions = {},
  ): Promise<Stored<T>> {
    checkObjectKey(key);
    return storedFrom<T>(await this.#read(objectPath(type, key), options));
  }

  list<T extends AnyObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    return gatherList<T>(options, chunkSize, (chunk) => this.#chunk(type, chunk));
  }

  async create<T extends AnyObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    const { namespace } = object.metadata;
    checkNamespaceName(namespace);
    const path = collectionPath(type, namespace);
    return storedFrom<T>(
      await this.#write({ method: 'POST', path, body: encodeRequestBody(object), contentType: json }, options),
    );
  }

  update<T extends AnyObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(type, object, '', options);
  }

  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(type, object, 'status', options);
  }

  patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    return this.#patch(type, key, { patch, subresource: '' }, options);
  }

  patchStatus<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    return this.#patch(type, key, { patch, subresource: 'status' }, options);
  }

  apply<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: ApplyConfiguration<T>,
    options: ApplyOptions = {},
  ): Promise<Stored<T>> {
    return this.#apply(type, configuration, '', options);
  }

  applyStatus<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: ApplyConfiguration<T>,
    options: ApplyOptions = {},
  ): Promise<Stored<T>> {
    return this.#apply(type, configuration, 'status', options);
  }

  async delete<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<Deletion<T>> {
    checkObjectKey(key);
    checkDeletePreconditions(options);
    const { uid, resourceVersion, propagationPolicy, dryRun = false } = options;
    const body = encodeRequestBody({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid, resourceVersion },
      propagationPolicy,
      ...(dryRun ? { dryRun: ['All'] } : {}),
    });
    const answer = await this.#write(
      { method: 'DELETE', path: objectPath(type, key), body, contentType: json },
      options,
    );
    if (answer['kind'] === 'Status') return { uid: uidOf(answer) };
    const object = storedFrom<T>(answer);
    return { uid: object.metadata.uid, object };
  }

  async watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    checkWatchStart(options.resourceVersion);
    checkNamespaceName(options.namespace);
    const query = selectionQuery(options);
    query.set('watch', 'true');
    query.set('allowWatchBookmarks', 'true');
    query.set('resourceVersion', options.resourceVersion);
    const path = `${collectionPath(type, options.namespace)}?${query.toString()}`;
    try {
      return await this.#calls.run(options.signal, (signal) =>
        retryReads(signal, () => this.#openStream<T>(path, signal, options)),
      );
    } catch (error) {
      // The caller has aborted, so it gets no further events.
      if (options.signal?.aborted === true) return emptyEventStream;
      throw error;
    }
  }

  /** Ends every call with 503 and every stream, and closes the connections. Idempotent. */
  close(): void {
    this.#calls.close();
    for (const stream of this.#streams) stream.close();
    this.#transport.close();
  }

  async #chunk<T extends AnyObject>(type: ResourceType<T>, options: ChunkOptions): Promise<ObjectList<T>> {
    checkNamespaceName(options.namespace);
    const answer = await this.#read(
      `${collectionPath(type, options.namespace)}?${listSearchParams(options).toString()}`,
      options,
    );
    const { metadata, items } = answer;
    if (!isJsonObject(metadata) || typeof metadata['resourceVersion'] !== 'string' || !Array.isArray(items))
      throw newUnexpected('a list');
    const next = metadata['continue'];
    return {
      resourceVersion: metadata['resourceVersion'],
      items: items as unknown as Stored<T>[],
      ...(typeof next === 'string' && next !== '' ? { continue: next } : {}),
    };
  }

  async #replace<T extends AnyObject>(
    type: ResourceType<T>,
    object: T,
    subresource: '' | 'status',
    options: WriteOptions,
  ): Promise<Stored<T>> {
    const { namespace = '', name } = object.metadata;
    checkObjectKey({ namespace, name });
    const path = objectPath(type, { namespace, name }, subresource);
    return storedFrom<T>(
      await this.#write({ method: 'PUT', path, body: encodeRequestBody(object), contentType: json }, options),
    );
  }

  async #patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    { patch, subresource }: { patch: Patch; subresource: '' | 'status' },
    options: WriteOptions,
  ): Promise<Stored<T>> {
    checkObjectKey(key);
    const path = objectPath(type, key, subresource);
    return storedFrom<T>(
      await this.#write(
        { method: 'PATCH', path, body: encodeRequestBody(patch.patch), contentType: patchTypes[patch.type] },
        options,
      ),
    );
  }

  async #apply<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: ApplyConfiguration<T>,
    subresource: '' | 'status',
    options: ApplyOptions,
  ): Promise<Stored<T>> {
    const { namespace = '', name } = configuration.metadata;
    checkObjectKey({ namespace, name });
    const path = objectPath(type, { namespace, name }, subresource);
    return storedFrom<T>(
      await this.#write(
        { method: 'PATCH', path, body: encodeRequestBody(configuration), contentType: applyPatchType },
        { ...options, fieldManager: options.fieldManager ?? this.#fieldManager ?? userAgent },
      ),
    );
  }

  #read(path: string, { signal, ...form }: RequestOptions & ReadOptions): Promise<JsonObject> {
    return this.#calls.run(signal, (own) =>
      retryReads(own, () => this.#exchange({ method: 'GET', path, headers: { accept: acceptOf(form) } }, own)),
    );
  }

  #write(
    {
      method,
      path,
      body,
      contentType,
    }: Pick<OutgoingRequest, 'method' | 'path'> & { body: string; contentType: string },
    options: ApplyOptions,
  ): Promise<JsonObject> {
    // A deletion sets no fields.
    const fieldManager = method === 'DELETE' ? undefined : (options.fieldManager ?? this.#fieldManager);
    const query = writeQuery(options, fieldManager).toString();
    const headers = { accept: json, 'content-type': contentType, ...fenceHeaders(options.fence) };
    return this.#calls.run(options.signal, (signal) =>
      this.#exchange({ method, path: query === '' ? path : `${path}?${query}`, headers, body }, signal),
    );
  }

  async #exchange(request: OutgoingRequest, signal: AbortSignal): Promise<JsonObject> {
    const response = await this.#transport.open(request, signal);
    return this.#answerOf(response, request.method === 'GET', signal);
  }

  async #answerOf(response: IncomingMessage, isRead: boolean, signal: AbortSignal): Promise<JsonObject> {
    for (const text of warningTexts(response)) this.#warn(text);
    try {
      return await readAnswer(response, this.#limits, signal);
    } catch (error) {
      const after = parseRetryAfter(response.headers['retry-after']);
      throw isRead && after !== undefined && isTransientFailure(error) ? new TryAgainError(error, after) : error;
    }
  }

  async #openStream<T extends AnyObject>(
    path: string,
    own: AbortSignal,
    { signal: caller, ...form }: RequestOptions & ReadOptions,
  ): Promise<EventStream<T>> {
    const response = await this.#transport.open(
      { method: 'GET', path, headers: { accept: acceptOf(form) }, isStream: true },
      own,
    );
    if (response.statusCode !== 200) {
      await this.#answerOf(response, true, own);
      throw newUnexpected('a stream of events');
    }
    for (const text of warningTexts(response)) this.#warn(text);
    let forget = (): void => undefined;
    const stream: RestEventStream<T> = new RestEventStream<T>(response, this.#limits, () => {
      this.#streams.delete(stream);
      forget();
    });
    this.#streams.add(stream);
    forget = whenAborted(caller, () => stream.close());
    // The client may have been closed since the response started.
    if (own.aborted) stream.close();
    return stream;
  }
}

function acceptOf({ omitManagedFields = false }: ReadOptions): string {
  return omitManagedFields ? `${json};drop=metadata.managedFields` : json;
}

function storedFrom<T extends AnyObject>(answer: JsonObject): Stored<T> {
  if (!isJsonObject(answer['metadata'])) throw newUnexpected('an object');
  return answer as unknown as Stored<T>;
}

function uidOf({ details }: JsonObject): string {
  const uid = isJsonObject(details) ? details['uid'] : undefined;
  return typeof uid === 'string' ? uid : '';
}

function newUnexpected(expected: string): StatusError {
  return new StatusError(500, 'InternalError', `the server gave an answer that is not ${expected}`);
}
