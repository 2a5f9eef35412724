import { isJsonObject } from '#pkg/apimachinery/index';
import { docComment, propertyName, stringLiteral } from './source-text.ts';

/** The maximum depth of a legal schema; below it any value is allowed. */
const maxDepth = 100;
const maxDefaultLength = 200;

/**
 * The TypeScript type of the values of a schema. The schema may be any value: an invalid schema allows any JSON.
 * Combinations (`anyOf`...) only restrict, and are ignored here. SDK types have the prefix `svc.`.
 */
export function typeText(schema: unknown, indent: string, depth = 0): string {
  if (!isJsonObject(schema) || depth > maxDepth) return 'svc.JsonValue';
  const text = enumText(schema) ?? plainText(schema, indent, depth);
  return schema['nullable'] === true && text !== 'svc.JsonValue' ? `${text} | null` : text;
}

/** The members of an object's type, one a line; '' if it declares none. */
export function membersText(schema: Record<string, unknown>, indent: string, depth = 0): string {
  const properties = propertiesOf(schema);
  const required: ReadonlySet<unknown> = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const members = Object.keys(properties)
    .toSorted()
    .map((name) => {
      const inner = properties[name];
      const doc = isJsonObject(inner)
        ? docComment([textOf(inner['title']), textOf(inner['description']), defaultText(inner['default'])], indent)
        : '';
      return `${doc}${indent}${propertyName(name)}${required.has(name) ? '' : '?'}: ${typeText(inner, indent, depth + 1)};\n`;
    });
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) members.push(`${indent}[key: string]: unknown;\n`);
  return members.join('');
}

/** The enum as literals; undefined if there is none, or if a value is not primitive. `nullable` covers null. */
function enumText(schema: Record<string, unknown>): string | undefined {
  const values = Array.isArray(schema['enum']) ? (schema['enum'] as unknown[]).filter((value) => value !== null) : [];
  if (values.length === 0 || !values.every((value) => ['string', 'number', 'boolean'].includes(typeof value)))
    return undefined;
  return [...new Set(values)]
    .map((value) => (typeof value === 'string' ? stringLiteral(value) : JSON.stringify(value)))
    .join(' | ');
}

function plainText(schema: Record<string, unknown>, indent: string, depth: number): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'number | string';
  switch (schema['type']) {
    case 'string':
    case 'boolean':
      return schema['type'];
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return listText(typeText(schema['items'], indent, depth + 1));
    case 'object':
      return objectText(schema, indent, depth);
    default:
      return 'svc.JsonValue';
  }
}

function listText(item: string): string {
  return /^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`;
}

function objectText(schema: Record<string, unknown>, indent: string, depth: number): string {
  const { additionalProperties: additional } = schema;
  const isOpen = additional === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const isMap = Object.keys(propertiesOf(schema)).length === 0;
  if (isMap && isJsonObject(additional)) return `{ [key: string]: ${typeText(additional, indent, depth + 1)} }`;
  if (isMap) return isOpen ? 'svc.JsonObject' : '{ [key: string]: never }';
  return `{\n${membersText(schema, `${indent}  `, depth)}${indent}}`;
}

/** An embedded resource has apiVersion, kind and metadata, even if its schema does not declare them. */
function propertiesOf(schema: Record<string, unknown>): Record<string, unknown> {
  const declared = isJsonObject(schema['properties']) ? schema['properties'] : {};
  if (schema['x-kubernetes-embedded-resource'] !== true) return declared;
  return { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: openObject, ...declared };
}

const openObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function defaultText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const text = JSON.stringify(value);
  return `Default: ${text.length > maxDefaultLength ? `${text.slice(0, maxDefaultLength)}...` : text}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
