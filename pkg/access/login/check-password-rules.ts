import { fold } from '../names/fold-case.ts';
import { isCommonPassword } from './common-passwords.ts';

const minLength = 8;
const maxLength = 256;
/** Minimum number of different characters. */
const minDistinct = 4;

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
