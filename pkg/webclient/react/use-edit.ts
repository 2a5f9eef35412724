import { useEffect, useState, useSyncExternalStore } from 'react';
import { StatusError, type AnyObject, type IndexTypes, type Stored } from '#pkg/apimachinery/index';
import { edit, type Edit, type SaveOptions, type Side } from '../edit/edit.ts';
import type { Conflict } from '../edit/merge.ts';
import type { Resource } from '../resource/resource.ts';

/** The draft, what stands in its way, and what changes it. The functions stay the same as long as the object does. */
export interface EditState<T extends AnyObject> {
  /** Undefined until there is an object. */
  draft: T | undefined;
  /** Does the draft differ from what is stored? */
  isChanged: boolean;
  isSaving: boolean;
  /** Fields that somebody else changed, too: `resolve` them, then save. */
  conflicts: readonly Conflict[];
  /** Why the last save failed; undefined after one that did not. */
  failure: StatusError | undefined;
  /** What the server says about single fields: `spec.title` to a text. */
  fieldErrors: ReadonlyMap<string, string>;
  /** Changes the draft: `change((draft) => { draft.spec.title = 'x'; })`. */
  change: (update: (draft: T) => void) => void;
  /** Decides conflicts, as `Edit.resolve`. */
  resolve: (side: Side, path?: string) => void;
  /** The stored object; undefined if it failed: never rejects. A call while another is under way is that other. */
  save: (options?: SaveOptions) => Promise<Stored<T> | undefined>;
  /** Gives up all changes. */
  reset: () => void;
}

/**
 * An edit of the object, which may come late, and is merged into the draft whenever it changes: pass what `useObject` or
 * `useLive` has. The draft stays when the object is gone. Another object begins another edit.
 */
export function useEdit<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  object: Stored<T> | undefined,
): EditState<T> {
  const [last, setLast] = useState(() => new EditSession(resource, object));
  let session = last;
  if (object !== undefined && !last.isOf(resource, object)) {
    session = new EditSession(resource, object);
    setLast(session);
  }
  useEffect(() => session.rebase(object), [session, object]);
  return useSyncExternalStore(session.subscribe, session.read, session.read);
}

const noErrors: ReadonlyMap<string, string> = new Map();

/** The edit of one object, with its state for React. */
class EditSession<T extends AnyObject, Indexes extends IndexTypes> {
  readonly #resource: Resource<T, Indexes>;
  readonly #edit: Edit<T> | undefined;
  readonly #listeners = new Set<() => void>();
  #state: EditState<T>;
  #saving: Promise<Stored<T> | undefined> | undefined;
  /** What was told while a save was under way. */
  #pending: Stored<T> | undefined;

  constructor(resource: Resource<T, Indexes>, object: Stored<T> | undefined) {
    this.#resource = resource;
    this.#edit = object === undefined ? undefined : edit(resource, object);
    this.#state = {
      draft: this.#edit?.draft,
      isChanged: false,
      isSaving: false,
      conflicts: [],
      failure: undefined,
      fieldErrors: noErrors,
      change: (update) => {
        if (this.#edit === undefined) return;
        const draft = structuredClone(this.#edit.draft);
        update(draft);
        this.#edit.draft = draft;
        this.#tell();
      },
      resolve: (side, path) => {
        this.#edit?.resolve(side, path);
        this.#tell();
      },
      save: (options) =>
        this.#edit === undefined ? Promise.resolve(undefined) : (this.#saving ??= this.#save(this.#edit, options)),
      reset: () => {
        this.#edit?.reset();
        this.#tell({ failure: undefined, fieldErrors: noErrors });
      },
    };
  }

  readonly read = (): EditState<T> => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** An object of the same name that was created anew is another one, but the draft is not given up for it. */
  isOf({ connection, path }: Resource<T, Indexes>, { metadata }: Stored<T>): boolean {
    if (this.#edit === undefined || connection !== this.#resource.connection || path !== this.#resource.path)
      return false;
    const { name, namespace, uid } = this.#edit.base.metadata;
    if (metadata.name !== name || metadata.namespace !== namespace) return false;
    return metadata.uid === uid || this.#edit.isChanged;
  }

  rebase(object: Stored<T> | undefined): void {
    if (object === undefined || this.#edit === undefined || object.metadata.uid !== this.#edit.base.metadata.uid)
      return;
    if (this.#saving !== undefined) {
      // It may be what is being saved, which is no conflict with what is changed meanwhile.
      this.#pending = object;
      return;
    }
    const { base } = this.#edit;
    this.#edit.rebase(object);
    if (this.#edit.base !== base) this.#tell();
  }

  /** Never rejects. */
  async #save(editing: Edit<T>, options?: SaveOptions): Promise<Stored<T> | undefined> {
    this.#tell({ isSaving: true });
    let saved: Stored<T> | undefined;
    let failure: StatusError | undefined;
    try {
      saved = await editing.save(options);
    } catch (error) {
      failure = error instanceof StatusError ? error : new StatusError(500, 'InternalError', String(error));
    }
    this.#saving = undefined;
    if (this.#pending !== undefined) editing.rebase(this.#pending);
    this.#pending = undefined;
    this.#tell({ isSaving: false, failure, fieldErrors: errorsOf(failure) });
    return saved;
  }

  #tell(change: Partial<EditState<T>> = {}): void {
    if (this.#edit === undefined) return;
    const { draft, isChanged, conflicts } = this.#edit;
    this.#state = { ...this.#state, draft, isChanged, conflicts, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function errorsOf(failure: StatusError | undefined): ReadonlyMap<string, string> {
  const errors = new Map<string, string>();
  for (const { field, message } of failure?.details?.causes ?? [])
    if (field !== undefined && field !== '') errors.set(field, message);
  return errors;
}
