import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';

export function cloneJson(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(cloneJson);
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    // Assigning `__proto__` would set the prototype instead of a field.
    if (key !== '__proto__') copy[key] = cloneJson(value[key]!);
  }
  return copy;
}

/** Is the value null, or a value in it? */
export function hasNull(value: JsonValue): boolean {
  if (typeof value !== 'object') return false;
  return value === null || Object.values(value).some(hasNull);
}

/** Values and keys, as `maxJsonValues` counts them; stops soon after `most`. */
export function countValues(value: JsonValue, most = Infinity): number {
  let count = 1;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && count <= most; i += 1) count += countValues(value[i]!, most - count);
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      if (count > most) break;
      count += 1 + countValues(value[key]!, most - count);
    }
  }
  return count;
}

/** At least as many bytes as the value's JSON has, counted without making the text; stops soon after `most`. */
export function maxJsonBytes(value: JsonValue, most = Infinity): number {
  // A character has up to 6 bytes, as an escape; a number has up to 24.
  if (typeof value === 'string') return 2 + 6 * value.length;
  if (typeof value !== 'object' || value === null) return 24;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && bytes <= most; i += 1) bytes += 1 + maxJsonBytes(value[i]!, most - bytes);
  } else {
    for (const key of Object.keys(value)) {
      if (bytes > most) break;
      bytes += 4 + 6 * key.length + maxJsonBytes(value[key]!, most - bytes);
    }
  }
  return bytes;
}

/** JSON text with sorted keys: equal values have equal texts. Undefined members are left out. */
export function canonicalJson(value: JsonValue | undefined): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += text === '' ? canonicalJson(item) : `,${canonicalJson(item)}`;
    return `[${text}]`;
  }
  for (const key of Object.keys(value).toSorted()) {
    const member = value[key];
    if (member !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/**
 * Whether this is a JSON value, nested at most `depth` levels. False for cycles, functions, undefined, NaN and class
 * instances.
 */
export function isJsonValue(value: unknown, depth = 100): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth === 0) return false;
  return Object.values(value).every((item) => isJsonValue(item, depth - 1));
}
