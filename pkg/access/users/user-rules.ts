import type { TString } from 'typebox';
import { exactText, freeText, line, texts, type FieldSchemaOptions } from '../operations/field-schemas.ts';
import { isUuid } from '../operations/uuid.ts';
import { fold } from '../names/fold-case.ts';

const maxUsernameLength = 128;
/** Source: RFC 5321, without the angle brackets. */
const maxEmailLength = 254;
/** Folding may lengthen a text, and the size of an index entry is limited. */
const maxKeyLength = 512;
const maxGroups = 100;

/**
 * Why a text is no valid username; undefined if valid. Its folded form must be valid as well, as there are wide and
 * narrow forms of `@`.
 */
export function usernameFault(text: string): string | undefined {
  const folded = fold(text);
  if (/[@:/\s\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text + folded))
    return 'A username holds no @, colon, slash, space or invisible character.';
  if (folded === '.' || folded === '..') return 'A path cannot name this.';
  if (folded.length > maxKeyLength) return `Ensure this field has no more than ${maxUsernameLength} characters.`;
  return isUuid(folded) ? 'A username may not look like an id.' : undefined;
}

export function emailFault(text: string): string | undefined {
  const folded = fold(text);
  const isAddress = [text, folded].every((form) =>
    /^[^@\s\p{C}\p{Z}",:;<>()[\]\\]+@[^@\s\p{C}\p{Z}",:;<>()[\]\\/]+$/u.test(form),
  );
  return isAddress && folded.length <= maxKeyLength ? undefined : 'Enter a valid email address.';
}

/** The prefix before the first colon names the group's owner. */
export function groupFault(group: string): string | undefined {
  if (/[\p{Cc}\p{Cf}]/u.test(group)) return 'Control characters are not allowed.';
  return /^(?:system|svc|org):/.test(fold(group))
    ? `"${group}" is reserved: no group of a user's own begins with system:, svc: or org:.`
    : undefined;
}

export const usernameField = line({
  maxLength: maxUsernameLength,
  fault: usernameFault,
  description: 'No @, colon, slash, space or invisible character; unique in any case; never changed.',
});
export const displayNameField = line();
export const emailField = line({ format: 'email', maxLength: maxEmailLength, fault: emailFault });
export const commentField = freeText({ maxLength: 2000 });
export const groupsField = texts({
  maxItems: maxGroups,
  fault: groupFault,
  description: 'By a system administrator only.',
});
export const passwordHint = '8 to 256 characters, and none that everybody tries.';
/** Permits longer texts than the password rules, whose message is better. */
export const passwordField = (options: FieldSchemaOptions = {}): TString => exactText({ maxLength: 4096, ...options });
