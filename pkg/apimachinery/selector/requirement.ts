import type { IndexDefinition, IndexValue } from '../scheme/index-definition.ts';

/** One clause of a label selector. NotEquals and NotIn also match an absent label. */
export type LabelRequirement =
  { key: string; operator: 'In' | 'NotIn'; values: string[] } | { key: string; operator: 'Exists' | 'DoesNotExist' };

/** All clauses must match; no clause selects everything. `k=v` is In with one value, `k!=v` NotIn with one. */
export type LabelSelector = LabelRequirement[];

/**
 * One clause of a field selector over an index. `In` on a multi-value index means "contains any", `NotIn` "contains
 * none"; NotIn also matches an absent field. The orderings and `Prefix` never match an absent field. Strings are
 * ordered by Unicode code point, as PostgreSQL's collation C orders their UTF-8 bytes.
 */
export type FieldRequirement =
  | { index: IndexDefinition; operator: 'In' | 'NotIn'; values: IndexValue[] }
  | {
      index: IndexDefinition;
      operator: 'GreaterThan' | 'GreaterOrEqual' | 'LessThan' | 'LessOrEqual';
      value: IndexValue;
    }
  | { index: IndexDefinition; operator: 'Prefix'; value: string }
  | { index: IndexDefinition; operator: 'Exists' | 'DoesNotExist' };

export type FieldSelector = FieldRequirement[];

/** The selection of a list or a watch; empty arrays select everything. */
export interface Selector {
  labels: LabelSelector;
  fields: FieldSelector;
}

export interface SortKey {
  index: IndexDefinition;
  descending: boolean;
}

/**
 * Keys in priority order. Ties are broken by namespace and name in the direction of the last key (ascending without
 * keys); nulls come first ascending, last descending.
 */
export type Sort = SortKey[];
