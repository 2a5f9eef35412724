type Fields = Record<string, unknown>;

/** Wraps an object and records which of its fields, at any depth, were read. */
export class ReadTracker {
  readonly proxy: object;
  readonly #root: object;
  readonly #read = new Map<object, Set<string>>();
  readonly #proxies = new Map<object, object>();

  /** The proxy is an instance of `prototype`; `root` is not changed. */
  constructor(root: object, prototype: object) {
    this.#root = root;
    this.proxy = new Proxy(Object.assign(Object.create(prototype) as object, root), {
      get: (target, key) => this.#get(root, key) ?? Reflect.get(target, key),
    });
  }

  /** Paths of unread fields, as JSON pointers, without the fields inside them. */
  unread(): string[] {
    const paths: string[] = [];
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        if (this.#read.get(value)?.has(key) === true) walk(inner, `${path}/${key}`);
        else paths.push(`${path}/${key}`);
      }
    };
    walk(this.#root, '');
    return paths;
  }

  #watch(value: object): object {
    const known = this.#proxies.get(value);
    if (known !== undefined) return known;
    const proxy = new Proxy(value, { get: (target, key) => this.#get(target, key) });
    this.#proxies.set(value, proxy);
    return proxy;
  }

  #get(target: object, key: string | symbol): unknown {
    if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return Reflect.get(target, key);
    const read = this.#read.get(target) ?? new Set();
    this.#read.set(target, read.add(key));
    const value = (target as Fields)[key];
    return typeof value === 'object' && value !== null ? this.#watch(value) : value;
  }
}
