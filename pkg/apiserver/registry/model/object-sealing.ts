import {
  equalJson,
  formatGroupResource,
  groupResource,
  isStatusError,
  type JsonObject,
  type JsonValue,
  type Model,
  type ObjectKey,
  StatusError,
} from '#pkg/apimachinery/index';
import type { Sealer } from '../../rest/sealer.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';

/** The field of a stored object that has the sealed text. Schemas do not know it, so no client can write it. */
const sealedField = 'sealed';

/**
 * Seals the confidential fields of one model's objects between the registry and the store, in one text with the
 * annotations: kubectl repeats the whole object in one of them. The sealed text belongs to one object, by namespace,
 * name and uid.
 */
export class ObjectSealing {
  readonly #resource: string;
  readonly #fields: readonly string[];
  readonly #sealer: Sealer;

  constructor(model: Model, sealer: Sealer) {
    this.#resource = formatGroupResource(groupResource(model));
    this.#fields = model.sealedFields ?? [];
    this.#sealer = sealer;
  }

  /**
   * The object as it is stored. What did not change since `old` keeps its sealed text, unless another key seals now.
   * @throws StatusError 503
   */
  seal(object: JsonApiObject, old?: { object: JsonApiObject; body: string }): JsonApiObject {
    const confidential = this.#confidentialOf(object);
    if (old !== undefined && equalJson(confidential, this.#confidentialOf(old.object))) {
      const sealed = sealedIn(old.body);
      if (typeof sealed === 'string' && this.#sealer.isCurrent(sealed)) return this.#withSealed(object, sealed);
    }
    const purpose = this.#purposeOf(object.metadata, object);
    return this.#withSealed(object, this.#sealer.seal(JSON.stringify(confidential), purpose));
  }

  /** The object with the sealed text of `body`, whether that can be opened or not. */
  keepSealed(object: JsonApiObject, body: string): JsonApiObject {
    return this.#withSealed(object, sealedIn(body));
  }

  /**
   * The stored text, sealed with the key that seals now; undefined if it is so already. The text keeps its length.
   * @throws StatusError 500 or 503 if it cannot be opened
   */
  reseal(body: string, key: ObjectKey): string | undefined {
    const object = JSON.parse(body) as JsonApiObject;
    const sealed = object[sealedField];
    if (typeof sealed !== 'string' || this.#sealer.isCurrent(sealed)) return undefined;
    const purpose = this.#purposeOf(key, object);
    const text = this.#sealer.seal(this.#open(sealed, key, object), purpose);
    return body.replace(`"${sealed}"`, `"${text}"`);
  }

  /** Opens the stored object, which it changes. @throws StatusError 500 or 503 */
  open(object: JsonApiObject, key: ObjectKey): void {
    const { [sealedField]: sealed, metadata } = object;
    delete object[sealedField];
    if (typeof sealed !== 'string' || this.#fields.some((field) => Object.hasOwn(object, field)))
      throw new StatusError(500, 'InternalError', `${this.#resource} "${key.name}" is not stored sealed`);
    const { annotations, ...fields } = JSON.parse(this.#open(sealed, key, object)) as JsonObject;
    if (annotations !== undefined) metadata.annotations = annotations as Record<string, string>;
    Object.assign(object, fields);
  }

  /** Leaves out what is sealed: for the deletion of an object that cannot be opened. */
  drop(object: JsonApiObject): void {
    delete object[sealedField];
  }

  #open(sealed: string, key: ObjectKey, object: JsonApiObject): string {
    try {
      return this.#sealer.open(sealed, this.#purposeOf(key, object));
    } catch (error) {
      if (!isStatusError(error)) throw error;
      const { code, reason, message } = error;
      throw new StatusError(code, reason, `${this.#resource} "${key.name}": ${message}`, { cause: error });
    }
  }

  #confidentialOf(object: JsonApiObject): JsonObject {
    const { annotations } = object.metadata;
    const confidential: JsonObject = annotations === undefined ? {} : { annotations };
    for (const field of this.#fields) if (object[field] !== undefined) confidential[field] = object[field];
    return confidential;
  }

  #withSealed(object: JsonApiObject, sealed: JsonValue | undefined): JsonApiObject {
    const { metadata, ...rest } = object;
    const { annotations: _, ...kept } = metadata;
    for (const field of this.#fields) delete rest[field];
    if (sealed !== undefined) rest[sealedField] = sealed;
    return { ...rest, metadata: kept } as unknown as JsonApiObject;
  }

  /** The key is that of the row: a body that was moved to another row cannot be opened. */
  #purposeOf({ namespace = '', name }: { namespace?: string; name: string }, { metadata }: JsonApiObject): string {
    return `${this.#resource}/${namespace}/${name}/${metadata.uid ?? ''}`;
  }
}

function sealedIn(body: string): JsonValue | undefined {
  return (JSON.parse(body) as JsonObject)[sealedField];
}
