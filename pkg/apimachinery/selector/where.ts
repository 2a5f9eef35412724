import type { ListOptions, Selection } from '../client/client.ts';
import type { AnyObject, ResourceType } from '../client/resource-type.ts';
import { newBadRequest } from '../status/status-error.ts';
import { formatComparison, type Comparison } from './format-selector.ts';

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

/** A type whose indexes the compiler knows. */
export interface IndexedResourceType<
  T extends AnyObject = AnyObject,
  Indexes extends IndexTypes = IndexTypes,
> extends ResourceType<T> {
  /** Never set; only carries the type. */
  readonly indexTypes?: Indexes;
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
      prefix?: [Extract<Value, string>] extends [never] ? never : string;
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

export interface SortedBy<Indexes extends IndexTypes> {
  /** In order of priority. */
  sort?: readonly SortText<Indexes>[];
}

type Selectors = Pick<Selection, 'fieldSelector' | 'labelSelector'>;

/**
 * The selection and order of a list, or the selection of a watch or controller, checked by the compiler against the
 * indexes of the type: `client.list(Post, selectionOf(Post, { where: { 'spec.slug': slug } }))`. Values are escaped:
 * they may come from outside.
 * @throws StatusError 400 for a name that no index can have, and for a key or value that no label can have
 */
export function selectionOf<Indexes extends IndexTypes>(
  _type: IndexedResourceType<AnyObject, Indexes>,
  { sort, ...selection }: WhereSelection<Indexes & MetadataIndexes> & SortedBy<Indexes & MetadataIndexes>,
): Selectors & Pick<ListOptions, 'sort'> {
  return { ...selectorsOf(selection), ...(sort === undefined ? {} : { sort }) };
}

/** The same without order, and without a type to check it against. */
export function selectorsOf({ where = {}, labels = {} }: WhereSelection<IndexTypes>): Selectors {
  const fieldSelector = clausesOf(where);
  const labelSelector = clausesOf(labels, checkWord);
  return {
    ...(fieldSelector === '' ? {} : { fieldSelector }),
    ...(labelSelector === '' ? {} : { labelSelector }),
  };
}

function clausesOf(conditions: Where<IndexTypes> | WhereLabels, check?: (value: unknown) => void): string {
  return Object.entries(conditions)
    .flatMap(([name, condition]) => {
      checkWord(name);
      return Object.entries(typeof condition === 'object' ? condition : { in: condition }).flatMap(([key, value]) => {
        if (value === undefined) return [];
        if (key === 'exists') return value === true ? name : `!${name}`;
        const values = [value].flat() as Scalar[];
        if (check !== undefined) values.forEach(check);
        return formatComparison(name, key as Comparison, values);
      });
    })
    .join();
}

/** Names, and keys and values of labels, are not escaped. @throws StatusError 400 */
function checkWord(text: unknown): void {
  if (/[\s\\,=!<>^()]/.test(String(text)))
    throw newBadRequest(`a selector cannot have the word ${JSON.stringify(text)}`);
}
