import { setMaxListeners } from 'node:events';
import {
  abortError,
  checkNamespaceName,
  checkObjectKey,
  checkDeletePreconditions,
  checkWatchStart,
  decodeJson,
  encodeRequestBody,
  fieldManagerCauses,
  formatFence,
  gatherList,
  isJsonObject,
  isStatusError,
  newBadRequest,
  newInternalError,
  newRequestEntityTooLarge,
  newServiceUnavailable,
  parseFence,
  untilAborted,
  whenAborted,
  type AnyObject,
  type ApplyConfiguration,
  type ApplyOptions,
  type ChunkOptions,
  type Client,
  type DeleteOptions,
  type Deletion,
  type EventStream,
  type JsonObject,
  type JsonValue,
  type ListOptions,
  type ObjectKey,
  type ObjectList,
  type Patch,
  type ReadOptions,
  type RequestOptions,
  type ResourceType,
  type Selection,
  type Stored,
  type WatchOptions,
  type WriteOptions,
} from '#pkg/apimachinery/index';
import { selectedName } from '#pkg/http/index';
import type { Auditor } from '../audit/auditor.ts';
import type { RequestAudit } from '../audit/request-audit.ts';
import { sourceOfAccess } from './audit-source.ts';
import { shownText, type ObjectForm } from '../handlers/answer/answer-format.ts';
import { defaultHandlerOptions } from '../handlers/options/handler-options.ts';
import { encodeContinueToken, newExpiredToken } from '../handlers/read/continue-token.ts';
import { parseListOptions, parseSelector } from '../handlers/read/list-options.ts';
import { defaultWatchTiming } from '../handlers/options/watch-timing.ts';
import { recheckAccess } from '../handlers/watch/recheck-access.ts';
import { checkKey, checkTypeMeta, dropInheritedRevision, setNamespace } from '../handlers/request/object-identity.ts';
import { checkApplied, checkApplyOptions } from '../handlers/write/apply.ts';
import { patchFunction, patchMediaTypes } from '../handlers/write/patch.ts';
import { newInvalidOptions } from '../handlers/write/write-options.ts';
import type { JsonApiObject } from '../rest/strategy.ts';
import { parseResourceVersion } from '../handlers/request/resource-version.ts';
import type { Representation, ServedResource, UpdateRequest } from '../rest/served-resource.ts';
import { terminatingRefusal } from '../rest/terminating-definition.ts';
import { platformManager, WriteContext } from '../rest/write-context.ts';
import { EventQueue } from './event-queue.ts';
import { LoopbackAccess, type Access, type LoopbackAccessOptions } from './loopback-access.ts';

export interface LoopbackClientOptions extends LoopbackAccessOptions {
  /** Called with the texts of Warning headers. */
  warn?: (text: string) => void;
  /** The manager of the fields that its writes set, where they name none. Default `svc`. */
  fieldManager?: string;
  /** Records the writes. Default: nothing is recorded. */
  auditor?: Pick<Auditor, 'begin' | 'end'> | undefined;
}

/**
 * The API from within its own process: the same permissions, checks, storage and bus as over HTTP, but no network.
 * Arguments and results are copies, so nothing is shared with the caller.
 */
export class LoopbackClient implements Client {
  readonly #access: LoopbackAccess;
  readonly #warn: (text: string) => void;
  readonly #fieldManager: string;
  readonly #auditor: Pick<Auditor, 'begin' | 'end'> | undefined;
  readonly #streams = new Set<EventQueue<AnyObject>>();
  #closed = false;

  constructor({ warn = () => undefined, fieldManager = platformManager, auditor, ...access }: LoopbackClientOptions) {
    this.#access = new LoopbackAccess(access);
    this.#warn = warn;
    this.#fieldManager = fieldManager;
    this.#auditor = auditor;
  }

  get<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, { signal }: RequestOptions = {}): Promise<Stored<T>> {
    return this.#call(signal, async () => {
      checkObjectKey(key);
      const { storage } = await this.#access.open(type, { verb: 'get', ...key });
      return parsed<T>(await storage.get(key));
    });
  }

  list<T extends AnyObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    return this.#call(options.signal, async () => {
      checkNamespaceName(options.namespace);
      const served = await this.#access.open(type, {
        verb: 'list',
        namespace: options.namespace,
        name: selectedName(options.fieldSelector),
      });
      // Reads chunk by chunk, so that no list occupies the database for long.
      return gatherList<T>(options, defaultHandlerOptions.maxChunkSize, (chunk) => this.#chunk<T>(served, chunk));
    });
  }

  create<T extends AnyObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    const { namespace = '' } = object.metadata;
    const access = { verb: 'create' as const, namespace };
    return this.#write(type, access, options, async (audit) => {
      checkNamespaceName(namespace);
      const served = await this.#openToWrite(type, access, options);
      const refusal = terminatingRefusal(served);
      if (refusal !== undefined) throw refusal;
      const body = copiedObject(object);
      checkTypeMeta(body, type);
      setNamespace(body, namespace);
      return parsed<T>(await served.storage.create(namespace, body, this.#context(options, audit, body)));
    });
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

  delete<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<Deletion<T>> {
    const access = { verb: 'delete' as const, ...key };
    return this.#write(type, access, options, async (audit) => {
      checkObjectKey(key);
      checkDeletePreconditions(options);
      const { uid, resourceVersion, propagationPolicy } = options;
      const { storage } = await this.#openToWrite(type, access, options);
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      const outcome = await storage.delete(
        { key, preconditions, ...(propagationPolicy === undefined ? {} : { propagationPolicy }) },
        this.#context(options, audit),
      );
      if (outcome.deleted) return { uid: outcome.uid };
      const object = parsed<T>(outcome.object);
      return { uid: object.metadata.uid, object };
    });
  }

  async watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    this.#checkOpen();
    const { namespace, resourceVersion, signal } = options;
    checkNamespaceName(namespace);
    checkWatchStart(resourceVersion);
    const after = parseResourceVersion(resourceVersion) ?? 0;
    const access = { verb: 'watch', namespace, name: selectedName(options.fieldSelector) };
    const giving = new AbortController();
    let forget = (): void => undefined;
    let stopChecking = (): void => undefined;
    const queue: EventQueue<T> = new EventQueue<T>(after, formOf(options), () => {
      this.#streams.delete(queue);
      forget();
      stopChecking();
      giving.abort();
    });
    this.#streams.add(queue);
    forget = whenAborted(signal, () => queue.close());
    try {
      const served = await this.#access.open(type, access);
      const selector = parseSelector(selectionQuery(options), served);
      const opening = served.storage.watch({
        ...inNamespace(namespace),
        selector,
        after,
        sink: queue,
        signal: giving.signal,
      });
      const recheck = async (): Promise<void> => void (await this.#access.open(type, access));
      if (!giving.signal.aborted)
        stopChecking = recheckAccess({
          recheck,
          everyMs: defaultWatchTiming.recheckMs,
          onLost: (error) => queue.fail(error),
        });
      opening.then(
        (stream) => queue.follow(stream),
        (error: unknown) => queue.fail(isStatusError(error) ? error : newInternalError(error)),
      );
      // A long history is sent at the reader's pace, so the reader must get the stream before its end.
      await Promise.race([opening, queue.full]);
    } catch (error) {
      queue.close();
      // A caller that aborted gets no error, at whatever point the opening was.
      if (signal?.aborted !== true) throw error;
    }
    return queue;
  }

  /** Ends every stream; later calls are 503. Call it before registry and store stop. */
  close(): void {
    this.#closed = true;
    for (const stream of this.#streams) stream.end();
  }

  async #chunk<T extends AnyObject>(served: ServedResource, options: ChunkOptions): Promise<ObjectList<T>> {
    const { namespace, signal = never } = options;
    const query = selectionQuery(options);
    for (const sort of options.sort ?? []) query.append('sort', sort);
    query.set('limit', String(options.limit));
    if (options.continue !== undefined) query.set('continue', options.continue);
    const { selector, sort, extent } = parseListOptions({
      query,
      served,
      namespace: inNamespace(namespace).namespace,
      options: defaultHandlerOptions,
      warn: this.#warn,
    });
    if (extent.type !== 'chunk') throw newBadRequest('a list is taken in chunks');
    const { limit, after, fingerprint } = extent;
    try {
      const found = await served.storage.chunk({
        ...inNamespace(namespace),
        selector,
        sort,
        signal,
        limit,
        ...(after === undefined ? {} : { after }),
      });
      const items: Stored<T>[] = [];
      for await (const batch of found.objects) for (const item of batch) items.push(parsed<T>(item, formOf(options)));
      return {
        resourceVersion: String(found.revision),
        items,
        ...(found.next === undefined ? {} : { continue: encodeContinueToken(found.next, fingerprint) }),
      };
    } catch (error) {
      throw after !== undefined && isStatusError(error, 'Expired') ? newExpiredToken(after, fingerprint) : error;
    }
  }

  #replace<T extends AnyObject>(
    type: ResourceType<T>,
    object: T,
    subresource: UpdateRequest['subresource'],
    options: WriteOptions,
  ): Promise<Stored<T>> {
    const { namespace = '', name } = object.metadata;
    const key = { namespace, name };
    const access = { verb: 'update' as const, subresource, ...key };
    return this.#write(type, access, options, async (audit) => {
      checkObjectKey(key);
      const { storage } = await this.#openToWrite(type, access, options);
      const body = copiedObject(object);
      checkTypeMeta(body, type);
      checkKey(body, key);
      return parsed<T>(
        await storage.update(
          { key, subresource, preconditions: {}, transform: () => body },
          this.#context(options, audit, body),
        ),
      );
    });
  }

  #patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    { patch, subresource }: { patch: Patch; subresource: UpdateRequest['subresource'] },
    options: WriteOptions,
  ): Promise<Stored<T>> {
    const access = { verb: 'patch' as const, subresource, ...key };
    return this.#write(type, access, options, async (audit) => {
      checkObjectKey(key);
      const { model, storage } = await this.#openToWrite(type, access, options);
      const changes = copied(patch.patch);
      const apply = patchFunction(patchMediaTypes[patch.type], changes, model.listMergeKeys);
      const transform = (current: AnyObject & JsonObject): JsonObject => {
        const patched = apply(current);
        checkTypeMeta(patched, type);
        checkKey(patched, key);
        dropInheritedRevision(patched, current);
        return patched;
      };
      return parsed<T>(
        await storage.update(
          { key, subresource, preconditions: {}, transform },
          this.#context(options, audit, changes),
        ),
      );
    });
  }

  #apply<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: ApplyConfiguration<T>,
    subresource: UpdateRequest['subresource'],
    options: ApplyOptions,
  ): Promise<Stored<T>> {
    const { namespace = '', name } = configuration.metadata;
    const key = { namespace, name };
    const access = { verb: 'patch' as const, subresource, ...key };
    return this.#write(type, access, options, async (audit) => {
      checkObjectKey(key);
      const { storage } = await this.#openToWrite(type, access, options);
      checkApplyOptions({ fieldManager: options.fieldManager ?? this.#fieldManager });
      const config = copiedObject(configuration) as JsonApiObject;
      checkTypeMeta(config, type);
      const authorizeCreate = async (): Promise<void> =>
        void (await this.#access.open(type, { verb: 'create', ...key }));
      const { object } = await storage.apply(
        {
          key,
          subresource,
          preconditions: {},
          force: options.force ?? false,
          config,
          check: (applied, current) => checkApplied(applied, current, key),
          ...(subresource === '' ? { authorizeCreate } : {}),
        },
        this.#context(options, audit, config),
      );
      return parsed<T>(object);
    });
  }

  async #call<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    this.#checkOpen();
    if (signal?.aborted === true) throw abortError(signal);
    return untilAborted(work(), signal);
  }

  /** A write that is refused is recorded; one that changes nothing is the routine of controllers. */
  #write<Result>(
    type: ResourceType,
    access: Access,
    { signal }: RequestOptions,
    work: (audit: RequestAudit | undefined) => Promise<Result>,
  ): Promise<Result> {
    return this.#call(signal, async () => {
      const audit = this.#auditor?.begin(sourceOfAccess(this.#access.user, type, access));
      try {
        return await work(audit);
      } catch (error) {
        if (audit !== undefined) this.#auditor?.end(audit, { code: isStatusError(error) ? error.code : 500 });
        throw error;
      }
    });
  }

  /** The checks before the body, in the same order as over HTTP. @throws StatusError 422 for the field manager */
  async #openToWrite(
    type: ResourceType,
    access: Access & { verb: keyof typeof optionsKinds },
    { fieldManager = '' }: WriteOptions,
  ): Promise<ServedResource> {
    const served = await this.#access.open(type, access);
    const causes = fieldManagerCauses(fieldManager);
    if (causes.length > 0) throw newInvalidOptions(optionsKinds[access.verb], causes);
    return served;
  }

  #checkOpen(): void {
    if (this.#closed) throw newServiceUnavailable('the server is shutting down');
  }

  #context(
    { dryRun = false, fieldValidation = 'Warn', signal = never, fence, fieldManager = '' }: WriteOptions,
    requestAudit: RequestAudit | undefined,
    requestObject?: JsonValue,
  ): WriteContext {
    if (requestAudit !== undefined) requestAudit.requestObject = requestObject;
    return new WriteContext({
      requestAudit,
      user: this.#access.user,
      signal,
      dryRun,
      fieldValidation,
      fieldManager: fieldManager === '' ? this.#fieldManager : fieldManager,
      fence: fence === undefined ? undefined : parseFence(formatFence(fence)),
      warn: this.#warn,
    });
  }
}

/** The signal of calls that are never aborted; all of them share it. */
const never = new AbortController().signal;
setMaxListeners(0, never);

const optionsKinds = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  patch: 'PatchOptions',
  delete: 'DeleteOptions',
} as const;

const whole: ObjectForm = { dropsManaged: false };

/** '' means all namespaces too. */
function inNamespace(namespace: string | undefined): { namespace?: string } {
  return namespace === undefined || namespace === '' ? {} : { namespace };
}

function selectionQuery({ labelSelector, fieldSelector }: Selection): URLSearchParams {
  const query = new URLSearchParams();
  if (labelSelector !== undefined) query.set('labelSelector', labelSelector);
  if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector);
  return query;
}

function formOf({ omitManagedFields = false }: ReadOptions): ObjectForm {
  return { dropsManaged: omitManagedFields };
}

function parsed<T extends AnyObject>(object: Representation, form: ObjectForm = whole): Stored<T> {
  return JSON.parse(shownText(object, form)) as Stored<T>;
}

/**
 * Copies a value through its JSON text, as over the wire: values without JSON form are refused or omitted, and the
 * caller's object is not shared.
 */
function copied(value: unknown): JsonValue {
  const bytes = Buffer.from(encodeRequestBody(value));
  if (bytes.length > defaultHandlerOptions.bodyLimit)
    throw newRequestEntityTooLarge(`the body of the request is larger than ${defaultHandlerOptions.bodyLimit} bytes`);
  return decodeJson(bytes).value;
}

function copiedObject(object: AnyObject | ApplyConfiguration): JsonObject {
  const value = copied(object);
  if (!isJsonObject(value)) throw newBadRequest('the body of the request must be an object');
  return value;
}
