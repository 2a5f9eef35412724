import { Type } from 'typebox';
import type { JsonValue } from '#pkg/apimachinery/index';
import { exactText } from '../operations/field-schemas.ts';

/** Longest texts that are looked at; longer ones are nobody's. */
export const longestName = 254;

/** Numbers count as their digits, as clients send them. */
function digits(sent: JsonValue): JsonValue {
  return typeof sent === 'number' && Number.isSafeInteger(sent) ? String(sent) : sent;
}

export const credentialFields = Type.Object({
  username: exactText({ maxLength: longestName, prepare: digits, description: 'Or the e-mail address.' }),
  password: exactText({ maxLength: 1024, prepare: digits }),
});
