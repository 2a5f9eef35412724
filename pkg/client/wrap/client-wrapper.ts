import type {
  AnyObject,
  ApplyConfiguration,
  ApplyOptions,
  Client,
  DeleteOptions,
  Deletion,
  EventStream,
  ListOptions,
  ObjectKey,
  ObjectList,
  Patch,
  RequestOptions,
  ResourceType,
  Stored,
  WatchOptions,
  WriteOptions,
} from '#pkg/apimachinery/index';

export interface ClientRead {
  verb: 'get' | 'list' | 'watch';
  type: ResourceType;
  /** Absent where many are read. */
  key?: ObjectKey;
}

export interface ClientWrite<T extends AnyObject = AnyObject> {
  verb: Exclude<keyof Client, ClientRead['verb']>;
  type: ResourceType<T>;
  key: ObjectKey;
  /** The object of a create or update. */
  object?: T;
  patch?: Patch;
  /** What an apply wants. */
  configuration?: ApplyConfiguration<T>;
  options: ClientWriteOptions | undefined;
}

/** The options of all writes; each uses its own. */
export type ClientWriteOptions = DeleteOptions & ApplyOptions;

/** What a write answers. */
export type WriteResult<T extends AnyObject> = Stored<T> | Deletion<T>;

export interface ClientHooks {
  /** Called for each get, list and watch; `send` passes it to the wrapped client. */
  read<Result>(read: ClientRead, send: () => Promise<Result>): Promise<Result>;
  /** Called for each write; `send` passes it to the wrapped client, with the options given. */
  write<T extends AnyObject, Result extends WriteResult<T>>(
    write: ClientWrite<T>,
    send: (options: ClientWriteOptions | undefined) => Promise<Result>,
  ): Promise<Result>;
}

/** Delegates every call to another Client; a subclass overrides the hooks or verbs that it changes. */
export class ClientWrapper implements Client {
  readonly #inner: Client;

  constructor(inner: Client) {
    this.#inner = inner;
  }

  get<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: RequestOptions): Promise<Stored<T>> {
    return this.read({ verb: 'get', type, key }, () => this.#inner.get(type, key, options));
  }

  list<T extends AnyObject>(type: ResourceType<T>, options?: ListOptions): Promise<ObjectList<T>> {
    return this.read({ verb: 'list', type }, () => this.#inner.list(type, options));
  }

  watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    return this.read({ verb: 'watch', type }, () => this.#inner.watch(type, options));
  }

  create<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.write({ verb: 'create', type, key: keyOf(object), object, options }, (given) =>
      this.#inner.create(type, object, given),
    );
  }

  update<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.write({ verb: 'update', type, key: keyOf(object), object, options }, (given) =>
      this.#inner.update(type, object, given),
    );
  }

  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.write({ verb: 'updateStatus', type, key: keyOf(object), object, options }, (given) =>
      this.#inner.updateStatus(type, object, given),
    );
  }

  patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.write({ verb: 'patch', type, key, patch, options }, (given) =>
      this.#inner.patch(type, key, patch, given),
    );
  }

  patchStatus<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.write({ verb: 'patchStatus', type, key, patch, options }, (given) =>
      this.#inner.patchStatus(type, key, patch, given),
    );
  }

  apply<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: ApplyConfiguration<T>,
    options?: ApplyOptions,
  ): Promise<Stored<T>> {
    return this.write({ verb: 'apply', type, key: keyOf(configuration), configuration, options }, (given) =>
      this.#inner.apply(type, configuration, given),
    );
  }

  applyStatus<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: ApplyConfiguration<T>,
    options?: ApplyOptions,
  ): Promise<Stored<T>> {
    return this.write({ verb: 'applyStatus', type, key: keyOf(configuration), configuration, options }, (given) =>
      this.#inner.applyStatus(type, configuration, given),
    );
  }

  delete<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: DeleteOptions): Promise<Deletion<T>> {
    return this.write({ verb: 'delete', type, key, options }, (given) => this.#inner.delete(type, key, given));
  }

  protected read<Result>(_read: ClientRead, send: () => Promise<Result>): Promise<Result> {
    return send();
  }

  protected write<T extends AnyObject, Result extends WriteResult<T>>(
    { options }: ClientWrite<T>,
    send: (options: ClientWriteOptions | undefined) => Promise<Result>,
  ): Promise<Result> {
    return send(options);
  }
}

/** The client, with the verbs and hooks that are given instead of its own. */
export function wrapClient(client: Client, overrides: Partial<Client & ClientHooks>): Client {
  return Object.assign(new ClientWrapper(client), overrides);
}

/** The name is '' where the server is to generate it. */
function keyOf({ metadata }: Pick<AnyObject, 'metadata'>): ObjectKey {
  const { namespace = '' } = metadata;
  const { name }: { name?: string } = metadata;
  return { namespace, name: name ?? '' };
}
