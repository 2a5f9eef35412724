import { Type } from 'typebox';
import type { JsonValue } from '#pkg/apimachinery/index';
import { exactText } from '../operations/field-schemas.ts';

/** Maximum length; no user has a longer name or e-mail address. */
export const maxLoginNameLength = 254;

/** Some clients send numbers, which count as their digits. */
function digits(sent: JsonValue): JsonValue {
  return typeof sent === 'number' && Number.isSafeInteger(sent) ? String(sent) : sent;
}

export const credentialFields = Type.Object({
  username: exactText({ maxLength: maxLoginNameLength, prepare: digits, description: 'Or the e-mail address.' }),
  password: exactText({ maxLength: 1024, prepare: digits }),
});
