import { createRequire } from 'node:module';
import { fold } from '../names/fold-case.ts';

const minLength = 8;
const maxLength = 256;
/** Minimum number of different characters. */
const minDistinct = 4;
/**
 * From @zxcvbn-ts/language-common (MIT, from the lists of zxcvbn); importing its index would load unused dictionaries.
 */
const commonPasswordsModule = '@zxcvbn-ts/language-common/dist/passwords.json.js';
let commonPasswords: ReadonlySet<string> | undefined;

export interface PasswordOwner {
  username: string;
  email?: string | null | undefined;
}

/**
 * Problems of a new password, a sentence each; empty if there are none, or no password. Lengths are in characters (code
 * points).
 */
export function checkPasswordRules(password: string | undefined, { username, email }: PasswordOwner): string[] {
  if (password === undefined) return [];
  // A character has at most two units; a text that is far too long is neither folded nor counted.
  const length = password.length > 2 * maxLength ? Infinity : Array.from(password).length;
  if (length > maxLength) return [`This password is too long: it may have ${maxLength} characters at most.`];
  const folded = fold(password);
  const problems: string[] = [];
  if (length < minLength) problems.push(`This password is too short: it needs at least ${minLength} characters.`);
  // In UTF-8 all lone surrogates become the same bytes, hence the same password.
  if (/\p{Surrogate}/u.test(password)) problems.push('This password holds half a character.');
  if (folded === fold(username)) problems.push('This password is the username.');
  if (email !== undefined && email !== null && folded === fold(email))
    problems.push('This password is the e-mail address.');
  if (isCommonPassword(folded) || (length >= minLength && new Set(folded).size < minDistinct))
    problems.push('This password is too common.');
  return problems;
}

/**
 * Is it among the 18 000 most common passwords? Pass it folded, as the list is in lower case. The first call reads the
 * list, about 10 ms.
 */
function isCommonPassword(folded: string): boolean {
  commonPasswords ??= new Set(
    (createRequire(import.meta.url)(commonPasswordsModule) as string[]).filter(({ length }) => length >= 8),
  );
  return commonPasswords.has(folded);
}
