import type { JsonObject } from '#pkg/apimachinery/index';
import { FieldReader } from '../records/field-reader.ts';

/** Longest texts that are looked at; longer ones are nobody's. */
export const longestName = 254;
const longestPassword = 1024;

/**
 * Of a body; numbers count as their digits, as clients send them. Throws 400 `{field: [texts]}` for what is missing, or
 * is no text.
 */
export function readCredentials(fields: JsonObject): { username: string; password: string } {
  const { username: name, password: secret } = fields;
  const reader = FieldReader.ofBody({ username: digits(name), password: digits(secret) } as JsonObject);
  const username = reader.text('username', { isRequired: true, isExact: true, longest: longestName });
  const password = reader.text('password', { isRequired: true, isExact: true, longest: longestPassword });
  reader.done();
  return { username: username!, password: password! };
}

function digits(value: JsonObject[string] | undefined): JsonObject[string] | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
}
