import type { FieldReader } from '../records/field-reader.ts';
import { isUuid } from '../records/uuid.ts';
import { fold } from '../names/fold-case.ts';

const longestUsername = 128;
/** Source: RFC 5321, with the angle brackets away. */
const longestEmail = 254;
/** Folding may make a text longer, and an index takes only so much. */
const longestKey = 512;
const mostGroups = 100;

/**
 * What makes a text no username; undefined where it is one. Folded it must be one as well: there are `@` of every
 * width.
 */
export function usernameFault(text: string): string | undefined {
  const folded = fold(text);
  if (/[@:/\s\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text + folded))
    return 'A username holds no @, colon, slash, space or invisible character.';
  if (folded === '.' || folded === '..') return 'A path cannot name this.';
  if (folded.length > longestKey) return `Ensure this field has no more than ${longestUsername} characters.`;
  return isUuid(folded) ? 'A username may not look like an id.' : undefined;
}

export function emailFault(text: string): string | undefined {
  const folded = fold(text);
  const isAddress = [text, folded].every((form) =>
    /^[^@\s\p{C}\p{Z}",:;<>()[\]\\]+@[^@\s\p{C}\p{Z}",:;<>()[\]\\/]+$/u.test(form),
  );
  return isAddress && folded.length <= longestKey ? undefined : 'Enter a valid email address.';
}

/** What stands before the first colon is whose the group is. */
export function groupFault(group: string): string | undefined {
  if (/[\p{Cc}\p{Cf}]/u.test(group)) return 'Control characters are not allowed.';
  return /^(?:system|svc|org):/.test(fold(group))
    ? `"${group}" is reserved: no group of a user's own begins with system:, svc: or org:.`
    : undefined;
}

export const readUsername = (reader: FieldReader, isRequired: boolean): string | undefined =>
  reader.text('username', { isRequired, longest: longestUsername, check: usernameFault });
export const readDisplayName = (reader: FieldReader, isRequired: boolean): string | undefined =>
  reader.text('name', { isRequired });
export const readEmail = (reader: FieldReader, isRequired: boolean): string | undefined =>
  reader.text('email', { isRequired, longest: longestEmail, check: emailFault });
export const readComment = (reader: FieldReader): string | undefined =>
  reader.text('comment', { isFree: true, longest: 2000 });
export const readGroups = (reader: FieldReader): string[] | undefined =>
  reader.texts('groups', { most: mostGroups, check: groupFault });
