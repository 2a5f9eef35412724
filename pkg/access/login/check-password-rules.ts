import { fold } from '../names/fold-case.ts';
import { isCommonPassword } from './common-passwords.ts';

const SHORTEST = 8;
const LONGEST = 256;
/** Different characters. */
const FEWEST = 4;

export interface PasswordOwner {
  username: string;
  email?: string | null | undefined;
}

/**
 * What is wrong with a new password, a sentence each; empty where nothing is, or there is none. Lengths are in
 * characters (code points).
 */
export function checkPasswordRules(password: string | undefined, { username, email }: PasswordOwner): string[] {
  if (password === undefined) return [];
  // No character is more than two units: neither folding nor counting is for what is far too long.
  const length = password.length > 2 * LONGEST ? Infinity : Array.from(password).length;
  if (length > LONGEST) return [`This password is too long: it may have ${LONGEST} characters at most.`];
  const folded = fold(password);
  const problems: string[] = [];
  if (length < SHORTEST) problems.push(`This password is too short: it needs at least ${SHORTEST} characters.`);
  // Half a pair has no bytes of its own: all of them would be the same password.
  if (/\p{Surrogate}/u.test(password)) problems.push('This password holds half a character.');
  if (folded === fold(username)) problems.push('This password is the username.');
  if (email !== undefined && email !== null && folded === fold(email))
    problems.push('This password is the e-mail address.');
  if (isCommonPassword(folded) || (length >= SHORTEST && new Set(folded).size < FEWEST))
    problems.push('This password is too common.');
  return problems;
}
