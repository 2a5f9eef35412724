/** Type of an index's keys, and of the values that a field selector compares with them. */
export type IndexType = 'string' | 'integer' | 'number' | 'boolean' | 'date';

/** Bytes of UTF-8. PostgreSQL refuses btree entries of about 2.7 kB. */
export const maxIndexKeyBytes = 1024;
/** Keys of one object in one multi-value index. */
export const maxIndexKeys = 10_000;

/** The function that computes the keys of an index without a path. */
export interface ComputedKey {
  /** Its name in the model's key script. */
  function: string;
  /** Hash of the script. */
  script: string;
  /** Identifies what is computed: another script, function, type or number of values has another id. */
  id: string;
}

/**
 * A field, or a function of an object, by which lists may be filtered and sorted. PostgreSQL stores it in a column of
 * its own: a btree for one value, a GIN index for several.
 */
export interface IndexDefinition {
  /** Unique within the model; the name in selectors and `sort`. */
  name: string;
  /** `spec.slug`, or `spec.tags[*]` and `spec.ports[*].name` for several values; '' where keys are computed. */
  path: string;
  computed?: ComputedKey;
  type: IndexType;
  /** Several keys per object: `=` means "contains". Not sortable, never unique. */
  multi: boolean;
  /** At most one object of the model, over all namespaces, holds a key. Objects without a key do not clash. */
  unique: boolean;
  /** Whether an object may have no key. Default true. */
  nullable: boolean;
  /** The schema's default for the field: the key of objects that were stored before the default existed. */
  default?: string | number | boolean;
}

/** One key: a date is milliseconds since 1970. */
export type IndexValue = string | number | boolean;

/** What one index yields for one object: a key or none, or a set of keys for a multi-value index. */
export type IndexKey = IndexValue | null | IndexValue[];

/** The keys that functions computed for one object, by `ComputedKey.id`. */
export type ComputedKeys = Readonly<Record<string, IndexKey>>;

/** An index whose keys are computed. */
export type ComputedIndex = IndexDefinition & { computed: ComputedKey };

export function isComputedIndex(index: IndexDefinition): index is ComputedIndex {
  return index.computed !== undefined;
}

/** Finds the objects with a given owner uid. Like labels it has no column of its own. */
export const ownerUidIndex: IndexDefinition = {
  name: 'metadata.ownerReferences.uid',
  path: 'metadata.ownerReferences[*].uid',
  type: 'string',
  multi: true,
  unique: false,
  nullable: true,
};

/** Indexes that every model has without declaring them; their names are reserved. */
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
