import {
  fieldError,
  isJsonObject,
  newBadRequest,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type StatusCause,
} from '#pkg/apimachinery/index';

/** Bytes of all values of one ConfigMap or Secret. Source: core/v1 MaxSecretSize. */
export const maxDataBytes = 1 << 20;
/** The field `immutable` of both kinds. */
export const immutableSchema: JsonSchema = {
  type: 'boolean',
  nullable: true,
  description: 'If true, the data can no longer be changed, and neither can this field.',
};

const maxKeyLength = 253;
const maxCauses = 100;
const keyForm = /^[-._a-zA-Z0-9]+$/;
const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** Causes for the keys of `data` that cannot be file names. Source: k8s.io/apimachinery IsConfigMapKey. */
export function keyCauses(data: JsonObject, field: string): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const key of Object.keys(data)) {
    if (causes.length >= maxCauses) break;
    for (const detail of keyFaults(key)) causes.push(fieldError.invalid(`${field}[${shown(key)}]`, key, detail));
  }
  return causes;
}

function keyFaults(key: string): string[] {
  const faults: string[] = [];
  if (key.length > maxKeyLength) faults.push(`must be no more than ${maxKeyLength} characters`);
  if (!keyForm.test(key)) faults.push(keyRule);
  if (key === '.' || key === '..') faults.push(`must not be '${key}'`);
  else if (key.startsWith('..')) faults.push("must not start with '..'");
  return faults;
}

const shown = (key: string): string => (key.length <= maxKeyLength ? key : `${key.slice(0, maxKeyLength)}...`);

/**
 * Causes for a change of data that is immutable; `fields` are its fields. `old` and `object` are valid under their
 * schema. Source: k8s.io/kubernetes/pkg/apis/core/validation.
 */
export function immutabilityCauses(object: JsonObject, old: JsonObject, fields: readonly string[]): StatusCause[] {
  if (old['immutable'] !== true) return [];
  const detail = 'field is immutable when `immutable` is set';
  const changed = fields.filter((field) => !isSameData(dataIn(object, field), dataIn(old, field)));
  return [
    ...(object['immutable'] === true ? [] : [fieldError.forbidden('immutable', detail)]),
    ...changed.map((field) => fieldError.forbidden(field, detail)),
  ];
}

/** The values in a field, none where it is absent or null. */
export function dataIn(object: JsonObject, field: string): JsonObject {
  const data = object[field];
  return isJsonObject(data) ? data : {};
}

function isSameData(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

/** Replaces null by the empty text, as Go reads it. The types in `object` may be wrong. */
export function fillNulls(object: JsonObject, field: string): void {
  const data = dataIn(object, field);
  for (const key of Object.keys(data)) if (data[key] === null) data[key] = '';
}

/**
 * Writes each base64 text of the field in its standard form: with line ends it is longer. The types in `object` may be
 * wrong. The message has no part of the data.
 * @throws StatusError 400
 */
export function normalizeBase64(object: JsonObject, field: string): void {
  const data = dataIn(object, field);
  for (const key of Object.keys(data)) {
    const text = data[key];
    if (typeof text === 'string') data[key] = standardBase64(text, object['kind'] as string);
  }
}

function standardBase64(text: string, kind: string): string {
  const compact = text.replaceAll(/[\r\n]/g, '');
  const fault = base64Fault(compact);
  if (fault !== undefined)
    throw newBadRequest(
      `${kind} in version "v1" cannot be handled as a ${kind}: illegal base64 data at input byte ${fault}`,
    );
  return Buffer.from(compact, 'base64').toString('base64');
}

/** The position of the first illegal character; undefined if there is none. */
function base64Fault(text: string): number | undefined {
  const letters = /^[A-Za-z0-9+/]*/.exec(text)![0].length;
  const padding = text.length - letters;
  if (padding <= 2 && text.slice(letters) === '='.repeat(padding) && text.length % 4 === 0) return undefined;
  return letters;
}

/** Bytes that a base64 text in standard form stands for. */
export function base64Bytes(text: JsonValue | undefined): number {
  if (typeof text !== 'string') return 0;
  return (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
}
