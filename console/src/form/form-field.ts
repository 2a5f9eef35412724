import type { JsonValue } from '@svc/client';
import { resolved, type ModelSchema, type OpenApiSchema } from '../server/open-api-schema.ts';
import { isObject, ownValue, pathText, type FieldPath } from './field-path.ts';
import { intOrStringText, isOneLine, isTypable, numberText } from './field-text.ts';

/**
 * How a field is shown. `embedded` is an object of any kind. `yaml` is what has no other form, or holds a value that its
 * form cannot show. `others` are the properties of an object that its schema does not name.
 */
export type FieldKind =
  'text' | 'number' | 'intOrString' | 'choice' | 'object' | 'map' | 'list' | 'embedded' | 'yaml' | 'others';

/** Does the field show other fields, and not a value of its own? */
export function isGroup({ kind }: Pick<FormField, 'kind'>): boolean {
  return kind === 'object' || kind === 'map' || kind === 'list' || kind === 'embedded';
}

/**
 * Whether a field may be absent: the value itself and its metadata may not, and an element of a list, or the value of a
 * map, is there as long as its row.
 */
export type FieldPlace = 'root' | 'required' | 'optional' | 'element';

export interface FormField {
  path: FieldPath;
  /** `path` as the server names it; two fields of one object never have the same, but for `others`. */
  id: string;
  /** As hints name it: every element of a list or a map is `[*]`. */
  listed: string;
  /** The property, the key, or the place in the list. */
  name: string;
  kind: FieldKind;
  schema: OpenApiSchema;
  value: JsonValue | undefined;
  place: FieldPlace;
}

type Shared = ModelSchema['shared'];

const objectMetaName = '.meta.v1.ObjectMeta';
/** A person sets these; what the server sets is shown as it is. */
const metadataFields = new Set([
  'name',
  'generateName',
  'namespace',
  'labels',
  'annotations',
  'finalizers',
  'ownerReferences',
]);

const known = new WeakMap<OpenApiSchema, OpenApiSchema>();

/** The same schema for the same reference, so that a field whose value is the same need not be rendered again. */
function fieldSchema(schema: OpenApiSchema, shared: Shared): OpenApiSchema {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const found = resolved(schema, shared);
  const isMetadata = [schema, ...(schema.allOf ?? [])].some(({ $ref }) => $ref?.endsWith(objectMetaName) === true);
  const result = isMetadata ? { ...found, properties: only(found.properties ?? {}, metadataFields) } : found;
  known.set(schema, result);
  return result;
}

function only<T>(object: Readonly<Record<string, T>>, names: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.has(name)));
}

export function rootField(schema: OpenApiSchema, shared: Shared, value: JsonValue | undefined): FormField {
  return newField({ path: [], listed: '', name: '', schema, value, place: 'root' }, shared);
}

/** An object of a model in a field of another one: causes name its fields by the field, hints by the model. */
export function embeddedRoot(field: FormField, { root, shared }: ModelSchema): FormField {
  return newField({ ...field, listed: '', schema: root }, shared);
}

type FieldParts = Omit<FormField, 'id' | 'kind'>;

function newField(parts: FieldParts, shared: Shared): FormField {
  const schema = fieldSchema(parts.schema, shared);
  return { ...parts, schema, id: pathText(parts.path), kind: kindOf(schema, parts.value) };
}

/** The fields of an object, the entries of a map, the elements of a list. */
export function fieldsIn(field: FormField, shared: Shared): FormField[] {
  const { schema, value, path, listed } = field;
  const child = (step: string | number, of: OpenApiSchema, place: FieldPlace): FormField =>
    newField(
      {
        path: [...path, step],
        listed: place === 'element' ? `${listed}[*]` : listed === '' ? String(step) : `${listed}.${step}`,
        name: String(step),
        schema: of,
        value: typeof step === 'number' ? (value as JsonValue[])[step] : ownValue(value, step),
        place,
      },
      shared,
    );
  switch (field.kind) {
    case 'list':
      return (Array.isArray(value) ? value : []).map((_, at) => child(at, schema.items!, 'element'));
    case 'map':
      return Object.keys(isObject(value) ? value : {}).map((key) =>
        child(key, schema.additionalProperties as OpenApiSchema, 'element'),
      );
    case 'object': {
      const required = new Set(schema.required);
      const place = (name: string): FieldPlace => {
        // Every object has metadata.
        if (field.place === 'root' && name === 'metadata') return 'root';
        return required.has(name) ? 'required' : 'optional';
      };
      const declared = Object.entries(schema.properties ?? {}).map(([name, of]) => child(name, of, place(name)));
      const others = othersOf(field);
      return others === undefined ? declared : [...declared, others];
    }
    default:
      return [];
  }
}

/** What the schema of the object does not name; undefined where there is nothing, and nothing can be. */
function othersOf(field: FormField): FormField | undefined {
  const { schema, value } = field;
  const declared = declaredNames(schema);
  const others = Object.entries(isObject(value) ? value : {}).filter(([name]) => !declared.has(name));
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties !== undefined;
  if (others.length === 0 && !isOpen) return undefined;
  return {
    ...field,
    name: '',
    kind: 'others',
    value: others.length === 0 ? undefined : Object.fromEntries(others),
    place: 'optional',
  };
}

export function declaredNames(schema: OpenApiSchema): ReadonlySet<string> {
  return new Set(Object.keys(schema.properties ?? {}));
}

/** The kind that the schema means, if the value is absent, or one that this kind shows without loss. */
function kindOf(schema: OpenApiSchema, value: JsonValue | undefined): FieldKind {
  const kind = kindOfSchema(schema);
  if (value === undefined || value === null || fits(kind, value)) return kind;
  return 'yaml';
}

function kindOfSchema(schema: OpenApiSchema): FieldKind {
  if (schema['x-kubernetes-int-or-string'] === true) return 'intOrString';
  if (schema.type === 'boolean') return 'choice';
  if (schema.enum !== undefined) return schema.enum.every((each) => typeof each !== 'object') ? 'choice' : 'yaml';
  switch (schema.type) {
    case 'string':
      return 'text';
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return schema.items === undefined ? 'yaml' : 'list';
    case 'object':
      if (isEmbedded(schema)) return 'embedded';
      if (Object.keys(schema.properties ?? {}).length > 0) return 'object';
      return typeof schema.additionalProperties === 'object' ? 'map' : 'yaml';
    default:
      return 'yaml';
  }
}

/** What the server adds to the schema of an embedded object. */
const embeddedNames: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** May it be an object of any kind? Of fields that the schema names itself the form of that kind would know nothing. */
function isEmbedded(schema: OpenApiSchema): boolean {
  return (
    schema['x-kubernetes-embedded-resource'] === true &&
    schema['x-kubernetes-preserve-unknown-fields'] === true &&
    Object.keys(schema.properties ?? {}).every((name) => embeddedNames.has(name))
  );
}

function fits(kind: FieldKind, value: JsonValue): boolean {
  switch (kind) {
    case 'text':
      return typeof value === 'string' && isTypable(value);
    case 'number':
      return numberText(value) !== undefined;
    case 'intOrString':
      return typeof value === 'string' ? isOneLine(intOrStringText(value)) : Number.isSafeInteger(value);
    case 'choice':
      return typeof value !== 'object';
    case 'list':
      return Array.isArray(value);
    case 'object':
    case 'map':
    case 'embedded':
      return isObject(value);
    default:
      return true;
  }
}

/** What a choice offers: the values of the enum, or true and false; and the value that it has, if it is another one. */
export function choicesOf({ schema, value }: FormField): JsonValue[] {
  const offered = (schema.type === 'boolean' ? [true, false] : (schema.enum ?? [])) as JsonValue[];
  const values = offered.filter((each) => each !== null);
  return value === undefined || value === null || values.includes(value) ? values : [...values, value];
}

/** A rule of an object: of several blocks of fields it has exactly one, or at least one. */
export interface BlockChoice {
  /** The names of the fields of each block. None at all is an empty block. */
  blocks: readonly (readonly string[])[];
  isExclusive: boolean;
}

/**
 * The choices that `oneOf` and `anyOf` mean, also those within `allOf`, where their branches say nothing but which
 * fields are required. What says something else is checked by the server alone.
 */
export function blockChoicesOf({ oneOf, anyOf, allOf = [], properties = {} }: OpenApiSchema): readonly BlockChoice[] {
  return [{ oneOf, anyOf }, ...allOf].flatMap((rule) => [
    ...choiceOf(rule.oneOf, properties, true),
    ...choiceOf(rule.anyOf, properties, false),
  ]);
}

function choiceOf(
  branches: readonly OpenApiSchema[] = [],
  properties: Readonly<Record<string, OpenApiSchema>>,
  isExclusive: boolean,
): readonly BlockChoice[] {
  const blocks = branches
    .map((branch) => blockOf(branch, properties, isExclusive))
    .filter((each) => each !== undefined);
  return blocks.length > 1 && blocks.length === branches.length ? [{ blocks, isExclusive }] : [];
}

/** Undefined if the branch says more than which fields there are. */
function blockOf(
  { required = [], not, ...others }: OpenApiSchema,
  properties: Readonly<Record<string, OpenApiSchema>>,
  isExclusive: boolean,
): readonly string[] | undefined {
  if (Object.keys(others).length > 0 || required.some((name) => !Object.hasOwn(properties, name))) return undefined;
  // The others are excluded by `oneOf` itself; that there is none of them is a block, too.
  const isExcluding = not !== undefined && [not, ...(not.anyOf ?? [])].every(saysRequiredOnly);
  if (not !== undefined && !(isExcluding && isExclusive)) return undefined;
  return required.length > 0 || not !== undefined ? required : undefined;
}

function saysRequiredOnly(schema: OpenApiSchema): boolean {
  return Object.keys(schema).every((keyword) => keyword === 'required' || keyword === 'anyOf');
}

/** The fields that are there because of a block: not those that every block has. */
export function blockFieldsOf({ blocks }: BlockChoice): ReadonlySet<string> {
  return new Set(blocks.flat().filter((name) => !blocks.every((block) => block.includes(name))));
}

/** Has the object this block: all its fields, and of an exclusive choice no field of another block? */
export function hasBlock(choice: BlockChoice, block: readonly string[], value: JsonValue | undefined): boolean {
  const isThere = (name: string): boolean => ownValue(value, name) !== undefined;
  if (!block.every(isThere)) return false;
  return !choice.isExclusive || [...blockFieldsOf(choice)].every((name) => block.includes(name) || !isThere(name));
}

/** Where lists of a schema that contains itself begin anew, no more is made. */
const maxDepth = 8;

/** What a new element, or a block that was chosen, begins with: its default, or its required fields. */
export function newValue(schema: OpenApiSchema, shared: Shared, depth = 0): JsonValue {
  const field = fieldSchema(schema, shared);
  if (field.default !== undefined) return field.default as JsonValue;
  if (field.enum !== undefined && field.enum.length > 0) return field.enum[0] as JsonValue;
  if (field['x-kubernetes-int-or-string'] === true) return '';
  switch (field.type) {
    case 'object':
      if (depth === maxDepth) return {};
      return Object.fromEntries(
        (field.required ?? []).map((name) => [name, newValue(field.properties?.[name] ?? {}, shared, depth + 1)]),
      );
    case 'array':
      return [];
    case 'integer':
    case 'number':
      return field.minimum ?? 0;
    case 'boolean':
      return false;
    case 'string':
      return '';
    default:
      return null;
  }
}
