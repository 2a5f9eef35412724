import type { IndexDefinition, IndexValue } from '../scheme/index-definition.ts';

/**
 * One clause of a label selector. NotEquals and NotIn are true where the label is absent too.
 */
export type LabelRequirement =
  { key: string; operator: 'In' | 'NotIn'; values: string[] } | { key: string; operator: 'Exists' | 'DoesNotExist' };

/** All clauses must hold; none selects everything. `k=v` is In with one value, `k!=v` NotIn with one. */
export type LabelSelector = LabelRequirement[];

/**
 * One clause of a field selector over an index. `In` on a multi-value index means "contains any", `NotIn` "contains
 * none"; NotIn is true where the field is absent too. The orderings and `Prefix` never match an absent field. Strings
 * are ordered by Unicode code point, as PostgreSQL's collation C orders their UTF-8 bytes.
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

/** What a list or a watch asks for; empty arrays select everything. */
export interface Selector {
  labels: LabelSelector;
  fields: FieldSelector;
}

export interface SortKey {
  index: IndexDefinition;
  descending: boolean;
}

/**
 * Keys in priority order. Ties are broken by namespace and name in the direction of the last key
 * (ascending where there is none); nulls come first ascending, last descending.
 */
export type Sort = SortKey[];
