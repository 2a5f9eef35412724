import {
  equalJson,
  isStatusError,
  newConflict,
  type AnyObject,
  type IndexTypes,
  type JsonObject,
  type ListKeys,
  type Stored,
} from '#pkg/apimachinery/index';
import type { Resource } from '../resource/resource.ts';
import { listsOf } from './list-keys.ts';
import { mergeObjects, setAt, type Conflict } from './merge.ts';

/** Begins an edit of an object that was read. */
export function edit<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  object: Stored<T>,
): Edit<T> {
  return new Edit<T>(object, listsOf(resource.model), resource);
}

type Requests<T extends AnyObject> = Pick<Resource<T>, 'get' | 'update'>;

export interface SaveOptions {
  signal?: AbortSignal;
  /** Checks the draft, and stores nothing. Default false. */
  dryRun?: boolean;
  /** Called with the text of each Warning header of the answer. Default: that of the connection. */
  warn?: (text: string) => void;
}

/** A field is as the draft has it, or as the server has it. */
export type Side = 'mine' | 'theirs';

/** How often `save` merges with another save before it gives up. */
const maxMerges = 5;
/** The server sets these. */
const serverFields = [
  'resourceVersion',
  'generation',
  'managedFields',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
];

/**
 * A change of one object while others change it, too. Change `draft`, then `save` it. What others saved meanwhile is
 * merged by field; a field that both changed is a conflict, which `save` hands out and `resolve` decides.
 */
export class Edit<T extends AnyObject> {
  /** The object with the changes of this edit: modify it freely. */
  draft: T;
  #newest: Stored<T>;
  #conflicts: Conflict[] = [];
  readonly #lists: ListKeys;
  readonly #requests: Requests<T>;

  constructor(object: Stored<T>, lists: ListKeys, requests: Requests<T>) {
    this.#newest = object;
    this.draft = structuredClone(object);
    this.#lists = lists;
    this.#requests = requests;
  }

  /** The object as the server last told: what the draft is compared with. */
  get base(): Stored<T> {
    return this.#newest;
  }

  /** Does the draft differ from `base`? */
  get isChanged(): boolean {
    return !equalJson(editable(this.draft), editable(this.#newest));
  }

  /** What both sides changed; the draft still has its own values. */
  get conflicts(): readonly Conflict[] {
    return this.#conflicts;
  }

  /**
   * Merges what somebody saved into the draft, as soon as it is known, for example from a live list. Fields in conflict
   * keep the draft's values. An object that is not newer than `base` changes nothing.
   */
  rebase(newest: Stored<T>): readonly Conflict[] {
    if (!isNewer(newest, this.#newest)) return this.#conflicts;
    const base = editable(this.#newest);
    const mine = editable(this.draft);
    const theirs = editable(newest);
    const { conflicts } = mergeObjects({ base, mine, theirs }, this.#lists);
    // With the sides changed, the value at a conflict is the draft's.
    const { merged } = mergeObjects({ base, mine: theirs, theirs: mine }, this.#lists);
    this.draft = withServerFields(merged, newest) as unknown as T;
    const known = new Map(this.#conflicts.map((conflict) => [conflict.path, conflict]));
    for (const conflict of conflicts) known.set(conflict.path, conflict);
    this.#conflicts = [...known.values()];
    this.#newest = newest;
    return this.#conflicts;
  }

  /**
   * Decides conflicts: keeps the draft's value of this field, or takes theirs. Without a path it decides all. A draft
   * that was changed by hand to what it shall be is 'mine'.
   */
  resolve(side: Side, path?: string): void {
    const decided = this.#conflicts.filter((conflict) => path === undefined || conflict.path === path);
    for (const { steps, theirs } of side === 'theirs' ? decided : [])
      setAt(this.draft as unknown as JsonObject, steps, structuredClone(theirs));
    this.#conflicts = this.#conflicts.filter((conflict) => !decided.includes(conflict));
  }

  /** Gives up the changes of the draft. */
  reset(): void {
    this.draft = structuredClone(this.#newest);
    this.#conflicts = [];
  }

  /**
   * Saves the draft, merged with what was saved meanwhile. The result is the new `base`; what is changed in the draft
   * until then stays in it.
   * @throws StatusError 409 with a cause for each conflict, which are then in `conflicts`; other failures of the write
   */
  async save(options: SaveOptions = {}): Promise<Stored<T>> {
    for (let merges = 0; ; merges += 1) {
      this.#refuseConflicts();
      try {
        const sent = structuredClone(this.draft);
        const saved = await this.#requests.update(sent, options);
        if (options.dryRun !== true) this.#takeSaved(sent, saved);
        return saved;
      } catch (error) {
        if (!isStatusError(error, 'Conflict') || merges === maxMerges) throw error;
        const newest = await this.#requests.get(this.#newest.metadata);
        // Not because of another save: an index is unique, say.
        if (newest.metadata.resourceVersion === this.#newest.metadata.resourceVersion) throw error;
        // Another object of this name is not what was edited.
        if (newest.metadata.uid !== this.#newest.metadata.uid) throw error;
        this.rebase(newest);
      }
    }
  }

  #takeSaved(sent: T, saved: Stored<T>): void {
    const [base, mine, theirs] = [editable(sent), editable(saved), editable(this.draft)];
    const { merged } = mergeObjects({ base, mine, theirs }, this.#lists);
    // `rebase` may have told of a later save meanwhile.
    if (isNewer(saved, this.#newest)) this.#newest = saved;
    this.draft = withServerFields(merged, this.#newest) as unknown as T;
  }

  #refuseConflicts(): void {
    if (this.#conflicts.length === 0) return;
    const { kind, metadata } = this.draft;
    const causes = this.#conflicts.map(({ path }) => ({
      reason: 'FieldConflict',
      field: path,
      message: 'somebody else changed it, too',
    }));
    throw newConflict({ group: '', resource: kind }, metadata.name, 'others changed the same fields', causes);
  }
}

/** A copy without what the server sets. */
function editable(object: AnyObject): JsonObject {
  const copy = structuredClone(object) as unknown as JsonObject & { metadata: JsonObject };
  for (const field of serverFields) delete copy.metadata[field];
  return copy;
}

/** With what the server set in `from`: so the merge is a change of the newest object. */
function withServerFields(object: JsonObject, { metadata }: AnyObject): JsonObject {
  const set = Object.entries(metadata).filter(([field]) => serverFields.includes(field));
  return {
    ...object,
    metadata: { ...(object['metadata'] as JsonObject), ...structuredClone(Object.fromEntries(set)) },
  };
}

/** Revisions are decimal numbers, which may be larger than a number keeps. */
function isNewer({ metadata: a }: Stored<AnyObject>, { metadata: b }: Stored<AnyObject>): boolean {
  return BigInt(a.resourceVersion) > BigInt(b.resourceVersion);
}
