import {
  formatFieldSelector,
  formatLabelSelector,
  type FieldRequirement,
  type IndexDefinition,
  type LabelRequirement,
} from '#pkg/apimachinery/index';

/** A value that an index compares; of a date its RFC 3339 text. */
export type Scalar = string | number | boolean;

/** The names of a model's indexes, and what each compares. */
export type IndexTypes = Readonly<Record<string, Scalar>>;

/** Indexes that every model has. */
export interface MetadataIndexes {
  'metadata.name': string;
  'metadata.namespace': string;
  'metadata.creationTimestamp': string;
  'metadata.deletionTimestamp': string;
  'metadata.ownerReferences.uid': string;
}

/** What one index must have: a value, or all that is named here. */
export type IndexCondition<Value extends Scalar> =
  | Value
  | {
      in?: readonly Value[];
      notIn?: readonly Value[];
      gt?: Value;
      gte?: Value;
      lt?: Value;
      lte?: Value;
      /** Of a text. */
      prefix?: Value & string;
      /** Has the object any value? */
      exists?: boolean;
    };

/** All conditions must hold. */
export type Where<Indexes extends IndexTypes> = {
  readonly [Name in keyof Indexes]?: IndexCondition<Indexes[Name]>;
};

/** What the labels must have: a value, one of several, or whether there is any. */
export type WhereLabels = Readonly<
  Record<string, string | { in?: readonly string[]; notIn?: readonly string[]; exists?: boolean }>
>;

/** `spec.year`, or `spec.year,desc`. */
export type SortText<Indexes extends IndexTypes> = (keyof Indexes & string) | `${keyof Indexes & string},desc`;

export interface WhereSelection<Indexes extends IndexTypes> {
  where?: Where<Indexes>;
  labels?: WhereLabels;
}

/** The query parameters `fieldSelector` and `labelSelector`. */
export function selectionParams({ where = {}, labels = {} }: WhereSelection<IndexTypes>): URLSearchParams {
  const params = new URLSearchParams();
  const fields = formatFieldSelector(
    Object.entries(where).flatMap(([name, condition]) => requirementsOf(name, condition)),
  );
  const texts = formatLabelSelector(
    Object.entries(labels).flatMap(([key, condition]) => labelRequirementsOf(key, condition)),
  );
  if (fields !== '') params.set('fieldSelector', fields);
  if (texts !== '') params.set('labelSelector', texts);
  return params;
}

const orderings = { gt: 'GreaterThan', gte: 'GreaterOrEqual', lt: 'LessThan', lte: 'LessOrEqual' } as const;

function requirementsOf(name: string, condition: IndexCondition<Scalar> | undefined): FieldRequirement[] {
  if (condition === undefined) return [];
  if (typeof condition !== 'object') return [{ index: indexOf(name, condition), operator: 'In', values: [condition] }];
  const found: FieldRequirement[] = [];
  const { in: oneOf, notIn, prefix, exists } = condition;
  if (oneOf !== undefined) found.push({ index: indexOf(name, oneOf[0]), operator: 'In', values: [...oneOf] });
  if (notIn !== undefined) found.push({ index: indexOf(name, notIn[0]), operator: 'NotIn', values: [...notIn] });
  for (const key of ['gt', 'gte', 'lt', 'lte'] as const) {
    const value = condition[key];
    if (value !== undefined) found.push({ index: indexOf(name, value), operator: orderings[key], value });
  }
  if (prefix !== undefined) found.push({ index: indexOf(name, prefix), operator: 'Prefix', value: prefix });
  if (exists !== undefined) found.push({ index: indexOf(name, ''), operator: exists ? 'Exists' : 'DoesNotExist' });
  return found;
}

function labelRequirementsOf(key: string, condition: WhereLabels[string]): LabelRequirement[] {
  if (typeof condition === 'string') return [{ key, operator: 'In', values: [condition] }];
  const { in: oneOf, notIn, exists } = condition;
  return [
    ...(oneOf === undefined ? [] : [{ key, operator: 'In' as const, values: [...oneOf] }]),
    ...(notIn === undefined ? [] : [{ key, operator: 'NotIn' as const, values: [...notIn] }]),
    ...(exists === undefined ? [] : [{ key, operator: exists ? ('Exists' as const) : ('DoesNotExist' as const) }]),
  ];
}

/** As much of the index as its selector's text needs: the server knows the rest. */
function indexOf(name: string, value: Scalar | undefined): IndexDefinition {
  const type = typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'string';
  return { name, path: '', type, multi: false, unique: false, nullable: true };
}
