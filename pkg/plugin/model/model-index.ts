import {
  parseIndexPath,
  type IndexPathSegment,
  type IndexType,
  type JsonSchema,
  type Scalar,
} from '#pkg/apimachinery/index';
import type { DeclaredIndex } from '#pkg/apis/index';

/** An index that lists can select by: a field (`index`, `multiIndex`) or the result of a function (`computedIndex`). */
export type ModelIndex = FieldIndex | ComputedModelIndex;

export interface FieldIndex<Name extends string = string, Path extends string = string> {
  readonly path: Path;
  readonly name: Name;
  readonly multi: boolean;
  readonly unique: boolean;
  readonly nullable: boolean;
}

export interface ComputedModelIndex<Name extends string = string, Type extends IndexType = IndexType> {
  readonly key: string;
  readonly type: Type;
  readonly name: Name;
  readonly multi: boolean;
  readonly unique: boolean;
  readonly nullable: boolean;
}

export interface MultiIndexOptions<Name extends string = string> {
  /** Its name in `fieldSelector` and `sort`. Default: the path, without `[*]`. */
  name?: Name;
}

export interface IndexOptions<Name extends string = string> extends MultiIndexOptions<Name> {
  /** Whether two objects of the model must not have the same value: 409. Default false. */
  unique?: boolean;
  /** Whether an object may have no value. Default true; otherwise 422. */
  nullable?: boolean;
}

export interface ComputedIndexOptions<Type extends IndexType = IndexType> {
  /** The name of the function in the exports of the plugin's `index-keys.ts`. */
  key: string;
  /** The type of its result; a date is RFC 3339 text or a Date. */
  type: Type;
  /** Whether it returns a list (or a Set); lists then select by containment. Default false. */
  multi?: boolean;
  /** Whether two objects of the model must not have the same key: 409. Not with `multi`. Default false. */
  unique?: boolean;
  /** Whether it may return null. Default true; otherwise 422. */
  nullable?: boolean;
}

/**
 * An index of one value: `index('spec.slug', { unique: true })`. It has the field's type; text with format date or
 * date-time is a date.
 */
export function index<const Path extends string, const Name extends string = Path>(
  path: Path,
  { name, unique = false, nullable = true }: IndexOptions<Name> = {},
): FieldIndex<NoInfer<Name>, Path> {
  return { path, name: name ?? (path as string as Name), multi: false, unique, nullable };
}

/** An index of several values; lists select by containment: `multiIndex('spec.tags[*]')`. */
export function multiIndex<const Path extends string, const Name extends string = WithoutStars<Path>>(
  path: Path,
  { name }: MultiIndexOptions<Name> = {},
): FieldIndex<NoInfer<Name>, Path> {
  return { path, name: name ?? (path.replaceAll('[*]', '') as Name), multi: true, unique: false, nullable: true };
}

type WithoutStars<Path extends string> = Path extends `${infer Before}[*]${infer After}`
  ? `${Before}${WithoutStars<After>}`
  : Path;

/**
 * An index of the result of a pure function of an object: `computedIndex('spec-word-count', { key: 'wordCount', type:
 * 'integer' })`. `index-keys.ts` exports the function and imports nothing of the platform; servers run it whenever an
 * object is written. See docs/models.md.
 */
export function computedIndex<const Name extends string, const Type extends IndexType>(
  name: Name,
  { key, type, multi = false, unique = false, nullable = true }: ComputedIndexOptions<Type>,
): ComputedModelIndex<Name, Type> {
  return { key, type, name, multi, unique, nullable };
}

/** The names of the indexes, and what each compares: where the compiler cannot tell, any plain value. */
export type IndexTypesOf<T, Indexes extends readonly ModelIndex[]> = {
  readonly [Each in Indexes[number] as Each['name']]: Each extends ComputedModelIndex<string, infer Type>
    ? ComputedTypes[Type]
    : Each extends FieldIndex<string, infer Path>
      ? ScalarAt<T, Path>
      : Scalar;
};

interface ComputedTypes {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  date: string;
}

type ScalarAt<T, Path extends string> =
  ValueAt<T, Path> extends infer Value ? (Value extends Scalar ? Value : Scalar) : never;

/** Unknown for what is no field, and for a path with quotes. */
type ValueAt<T, Path extends string> = Path extends `${string}['${string}` | `${string}["${string}`
  ? unknown
  : Path extends `${infer First}.${infer Rest}`
    ? ValueAt<First extends '' ? T : FieldOf<T, First>, Rest>
    : FieldOf<T, Path>;

type FieldOf<T, Name extends string> = Name extends `${infer List}[*]`
  ? ItemOf<FieldOf<T, List>>
  : T extends object
    ? Name extends keyof T
      ? NonNullable<T[Name]>
      : unknown
    : unknown;

type ItemOf<T> = T extends readonly (infer Item)[] ? NonNullable<Item> : unknown;

/**
 * The index as the definition declares it. @throws TypeError that names the path, if it is not the path of a plain
 * field of `schema`
 */
export function declareIndex(declared: ModelIndex, schema: JsonSchema): DeclaredIndex {
  const { name, multi, unique, nullable } = declared;
  if ('key' in declared)
    return {
      name,
      key: declared.key,
      type: declared.type,
      ...(multi ? { multi } : {}),
      ...(unique ? { unique } : {}),
      ...(nullable ? {} : { nullable }),
    };
  const { path } = declared;
  const type = indexTypeAt(path, schema);
  const lists = path.includes('[*]');
  if (multi !== lists)
    throw newIndexError(
      path,
      lists ? 'leads to several values, which multiIndex takes' : "leads to one value; several need a '[*]', or index",
    );
  return {
    name,
    path,
    type,
    ...(multi ? { multi } : {}),
    ...(unique ? { unique } : {}),
    ...(nullable ? {} : { nullable }),
  };
}

const text: JsonSchema = { type: 'string' };
const texts: JsonSchema = { type: 'object', additionalProperties: text };

/** The metadata fields that an index can use; names and times are indexed in every model. */
const metadata: JsonSchema = {
  type: 'object',
  properties: {
    generateName: text,
    uid: text,
    generation: { type: 'integer' },
    labels: texts,
    annotations: texts,
    finalizers: { type: 'array', items: text },
  },
};

function indexTypeAt(path: string, schema: JsonSchema): IndexType {
  const parsed = parseIndexPath(path);
  if ('problem' in parsed) throw newIndexError(path, `is no path: ${parsed.problem}`);
  let current: JsonSchema | undefined = { type: 'object', properties: { ...schema.properties, metadata } };
  for (const segment of parsed.segments) current = current === undefined ? undefined : stepInto(current, segment);
  if (current === undefined) throw newIndexError(path, 'leads to no field of the schema');
  const { type, format } = current;
  if (type === 'string') return format === 'date-time' || format === 'date' ? 'date' : 'string';
  if (type === 'integer' || type === 'number' || type === 'boolean') return type;
  const instead = type === 'array' ? `; its items are ${path}[*]` : '';
  throw newIndexError(
    path,
    `leads to ${type === undefined ? 'a field of no certain type' : `a field of type ${type}`}, which cannot be indexed${instead}`,
  );
}

function stepInto(schema: JsonSchema, segment: IndexPathSegment): JsonSchema | undefined {
  if ('everyItem' in segment) return schema.items;
  const { properties = {}, additionalProperties } = schema;
  if (Object.hasOwn(properties, segment.property)) return properties[segment.property];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

function newIndexError(path: string, problem: string): TypeError {
  return new TypeError(`the index ${path} ${problem}`);
}
