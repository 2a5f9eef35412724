/** Type of the keys of an index, and so of the values a field selector compares them with. */
export type IndexType = 'string' | 'integer' | 'number' | 'boolean' | 'date';

/** Bytes of UTF-8. PostgreSQL refuses btree entries of about 2.7 kB. */
export const maxIndexKeyBytes = 1024;
/** Keys of one object in one multi-value index. */
export const maxIndexKeys = 10_000;

/** Which function gives the keys of an index, in place of a path. */
export interface ComputedKey {
  /** As the model's key script exports it. */
  function: string;
  /** Hash of the script. */
  script: string;
  /** Names what is computed: another script, function, type or number of values is another one. */
  id: string;
}

/**
 * A field, or what a function makes of an object, that lists may be filtered and sorted by.
 * PostgreSQL keeps it as a column of its own: a btree for one value, a GIN index for several.
 */
export interface IndexDefinition {
  /** Unique within the model, and what selectors and `sort` call it. */
  name: string;
  /** `spec.slug`, or `spec.tags[*]` and `spec.ports[*].name` for several values; '' where keys are computed. */
  path: string;
  computed?: ComputedKey;
  type: IndexType;
  /** Several keys an object: `=` means "contains". Not sortable, never unique. */
  multi: boolean;
  /** At most one object of the model, over all namespaces, holds a key. Objects without a key do not clash. */
  unique: boolean;
  /** May an object have no key? Default true. */
  nullable: boolean;
  /**
   * The schema's default for the field: the key of an object that was stored before the default came, and is read with
   * it.
   */
  default?: string | number | boolean;
}

/** One key: a date is milliseconds since 1970. */
export type IndexValue = string | number | boolean;

/** What one index yields for one object: a key or none, or a set of keys for a multi-value index. */
export type IndexKey = IndexValue | null | IndexValue[];

/** The keys that functions gave for one object, by `ComputedKey.id`. */
export type ComputedKeys = Readonly<Record<string, IndexKey>>;

/** An index whose keys are computed. */
export type ComputedIndex = IndexDefinition & { computed: ComputedKey };

export function isComputedIndex(index: IndexDefinition): index is ComputedIndex {
  return index.computed !== undefined;
}

/** Finds the objects that name a uid among their owners. Like labels it has no column of its own. */
export const ownerUidIndex: IndexDefinition = {
  name: 'metadata.ownerReferences.uid',
  path: 'metadata.ownerReferences[*].uid',
  type: 'string',
  multi: true,
  unique: false,
  nullable: true,
};

/** Indexes every model has without declaring them; a declared index may not take their names. */
export const builtinIndexes: readonly IndexDefinition[] = [
  { name: 'metadata.name', path: 'metadata.name', type: 'string', multi: false, unique: false, nullable: false },
  {
    name: 'metadata.namespace',
    path: 'metadata.namespace',
    type: 'string',
    multi: false,
    unique: false,
    nullable: true,
  },
  {
    name: 'metadata.creationTimestamp',
    path: 'metadata.creationTimestamp',
    type: 'date',
    multi: false,
    unique: false,
    nullable: true,
  },
  {
    name: 'metadata.deletionTimestamp',
    path: 'metadata.deletionTimestamp',
    type: 'date',
    multi: false,
    unique: false,
    nullable: true,
  },
  ownerUidIndex,
];
