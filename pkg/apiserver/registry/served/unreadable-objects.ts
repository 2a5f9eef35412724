import {
  formatGroupResource,
  isStatusError,
  StatusError,
  type GroupResource,
  type StatusCause,
} from '#pkg/apimachinery/index';
import type { StoredObject } from '#pkg/storage/index';

/** So many are named in one answer. Source: kube-apiserver, which names a hundred undecryptable objects of a list. */
const maxNamed = 100;

/**
 * The objects that make a list fail, because what is sealed of them cannot be opened. A list that left them out would tell
 * caches that they are deleted.
 */
export class UnreadableObjects {
  readonly #resource: GroupResource;
  readonly #causes: StatusCause[] = [];
  #first: StatusError | undefined;

  constructor(resource: GroupResource) {
    this.#resource = resource;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  get isFull(): boolean {
    return this.#causes.length >= maxNamed;
  }

  /** Rethrows an error that is not about this object. */
  add({ namespace, name }: Pick<StoredObject, 'namespace' | 'name'>, error: unknown): void {
    if (!isStatusError(error)) throw error;
    this.#first ??= error;
    this.#causes.push({
      reason: 'UnexpectedServerResponse',
      message: error.message,
      field: namespace === '' ? name : `${namespace}/${name}`,
    });
  }

  /** @throws StatusError with the code of the first, if there is one */
  throwIfAny(): void {
    if (this.#first === undefined) return;
    const { code, reason } = this.#first;
    const resource = formatGroupResource(this.#resource);
    const names = this.#causes.map(({ field }) => field).join(', ');
    throw new StatusError(
      code,
      reason,
      `a list of ${resource} cannot have these objects, whose sealed fields cannot be opened: ${names}${this.isFull ? ' and others' : ''}. Bring back their key, or delete them by name`,
      { details: { kind: resource, causes: this.#causes }, cause: this.#first },
    );
  }
}
