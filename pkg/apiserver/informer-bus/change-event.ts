import type { ApiObject, ComputedKeys } from '#pkg/apimachinery/index';
import { storedLength, type Change, type StoredObject } from '#pkg/storage/index';
import type { ObjectText, SharedRepresentation } from '../rest/served-resource.ts';

/** Creates the text for clients of one version. */
export interface BodyReader {
  /** `isFinal`: the object was deleted. */
  text(stored: StoredText, isFinal?: boolean): ObjectText;
  /** What `text` is called with instead of `stored`. Absent or undefined: `stored` itself. */
  prepare?(stored: StoredText): Promise<StoredText> | undefined;
}

/**
 * One change for its watchers: old and new state are parsed at most once, when a selector first needs them, and their
 * texts are created once for each version.
 */
export class ChangeEvent {
  readonly change: Change;
  #object: ApiObject | undefined;
  #oldObject: ApiObject | undefined;
  #computed: ComputedKeys | undefined;
  #oldComputed: ComputedKeys | undefined;
  readonly #currentTexts = new Map<BodyReader, SharedText>();
  readonly #previousTexts = new Map<BodyReader, SharedText>();

  constructor(change: Change) {
    this.change = change;
  }

  parsed(): ApiObject {
    this.#object ??= JSON.parse(this.change.body) as ApiObject;
    return this.#object;
  }

  parsedOld(): ApiObject | undefined {
    const { old } = this.change;
    if (old !== undefined) this.#oldObject ??= JSON.parse(old.body) as ApiObject;
    return this.#oldObject;
  }

  /** The keys that functions computed for the object after the change, if any. */
  keys(): ComputedKeys | undefined {
    const { keys } = this.change;
    if (keys !== undefined) this.#computed ??= JSON.parse(keys) as ComputedKeys;
    return this.#computed;
  }

  oldKeys(): ComputedKeys | undefined {
    const keys = this.change.old?.keys;
    if (keys !== undefined) this.#oldComputed ??= JSON.parse(keys) as ComputedKeys;
    return this.#oldComputed;
  }

  /** The object after the change. */
  current(reader: BodyReader): SharedRepresentation {
    return shared(this.#currentTexts, reader, this.change, this.change.type === 'delete');
  }

  /**
   * The object before the change, with the revision of the change: sent to a watcher whose selector no longer matches.
   */
  previous(reader: BodyReader): SharedRepresentation {
    const { namespace, name, revision } = this.change;
    const { body, managed, fingerprint } = this.change.old ?? this.change;
    return shared(this.#previousTexts, reader, { namespace, name, body, managed, fingerprint, revision });
  }
}

type StoredText = Pick<StoredObject, 'namespace' | 'name' | 'body' | 'managed' | 'fingerprint' | 'revision'>;

function shared(
  known: Map<BodyReader, SharedText>,
  reader: BodyReader,
  stored: StoredText,
  isFinal = false,
): SharedText {
  let text = known.get(reader);
  if (text === undefined) {
    text = new SharedText(reader, stored, isFinal);
    known.set(reader, text);
  }
  return text;
}

class SharedText implements SharedRepresentation {
  readonly revision: number;
  readonly #reader: BodyReader;
  #stored: StoredText;
  readonly #isFinal: boolean;
  #preparing: Promise<void> | undefined;
  #made: ObjectText | undefined;
  readonly #encodings = new Map<string, Buffer>();

  constructor(reader: BodyReader, stored: StoredText, isFinal: boolean) {
    this.#reader = reader;
    this.#stored = stored;
    this.#isFinal = isFinal;
    this.revision = stored.revision;
  }

  get length(): number {
    return storedLength(this.#stored);
  }

  prepared(): Promise<void> | undefined {
    const pending = this.#preparing === undefined ? this.#reader.prepare?.(this.#stored) : undefined;
    if (pending !== undefined) this.#preparing = this.#take(pending);
    return this.#preparing;
  }

  async #take(pending: Promise<StoredText>): Promise<void> {
    this.#stored = await pending;
  }

  text(): ObjectText {
    this.#made ??= this.#reader.text(this.#stored, this.#isFinal);
    return this.#made;
  }

  encoded(format: string, make: (object: ObjectText) => Buffer): Buffer {
    let encoded = this.#encodings.get(format);
    if (encoded === undefined) {
      encoded = make(this.text());
      this.#encodings.set(format, encoded);
    }
    return encoded;
  }
}
