import { readContent, RoleEntry, type RoleContent } from './role-entry.ts';

/** Roles of one scope by key, including missing ones that bindings refer to. */
export class RoleTable {
  readonly #entries = new Map<string, RoleEntry>();
  /** The existing roles that aggregate others. */
  readonly #aggregating = new Set<RoleEntry>();

  get(key: string): RoleEntry | undefined {
    return this.#entries.get(key);
  }

  /** Names of existing roles. */
  *names(): Generator<string> {
    for (const [key, { content }] of this.#entries) if (content !== undefined) yield key;
  }

  /** Adds a binding's reference to the role; `release` removes it. */
  refer(key: string): RoleEntry {
    const entry = this.#entryOf(key);
    entry.bindings += 1;
    return entry;
  }

  release(entry: RoleEntry): void {
    entry.bindings -= 1;
    this.#forget(entry);
  }

  put(key: string, body: string): void {
    this.#change(this.#entryOf(key), readContent(body));
  }

  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#change(entry, undefined);
    this.#forget(entry);
  }

  #entryOf(key: string): RoleEntry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry = new RoleEntry(key);
    this.#entries.set(key, entry);
    return entry;
  }

  #forget(entry: RoleEntry): void {
    if (entry.content === undefined && entry.bindings === 0) this.#entries.delete(entry.name);
  }

  #change(entry: RoleEntry, content: RoleContent | undefined): void {
    const old = entry.content;
    if (old?.selects === undefined && content?.selects === undefined) {
      // The usual case, without aggregation: removes its old rules from all roles in which they are in effect, and adds
      // the new ones.
      for (const { effective } of this.#reached(entry)) effective.remove(old?.rules ?? []);
      entry.content = content;
      for (const { effective } of this.#reached(entry)) effective.add(content?.rules ?? []);
      return;
    }
    entry.content = content;
    if (content?.selects === undefined) this.#aggregating.delete(entry);
    else this.#aggregating.add(entry);
    if (
      old === undefined ||
      content === undefined ||
      old.selectors !== content.selectors ||
      !isSameLabels(old, content)
    )
      this.#aggregateAnew();
  }

  #aggregateAnew(): void {
    for (const { effective } of this.#entries.values()) effective.clear();
    for (const entry of this.#entries.values())
      for (const { effective } of this.#reached(entry)) effective.add(entry.content?.rules ?? []);
  }

  /**
   * The roles in which a role's rules are in effect: itself, those that aggregate it, those that aggregate these, and
   * so on; cycles are allowed.
   */
  #reached(entry: RoleEntry): ReadonlySet<RoleEntry> {
    const reached = new Set([entry]);
    if (this.#aggregating.size === 0) return reached;
    // The set grows during the iteration.
    for (const { content } of reached) {
      if (content !== undefined)
        for (const other of this.#aggregating)
          if (!reached.has(other) && other.content?.selects?.(content.labels) === true) reached.add(other);
    }
    return reached;
  }
}

function isSameLabels({ labels: one }: RoleContent, { labels: other }: RoleContent): boolean {
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && one[key] === other[key])
  );
}
