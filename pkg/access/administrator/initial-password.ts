import { randomInt } from 'node:crypto';
import { checkPasswordRules } from '../login/check-password-rules.ts';
import { readSecretFile, writeSecretFile } from './secret-file.ts';

/** Without characters that look alike: 24 of these 56 are 139 bits. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz';
const passwordLength = 24;

/**
 * `svc.security.initial-admin-password` breaks the rules; the message is one sentence for the operator, without the
 * password.
 */
export class InitialPasswordError extends Error {
  constructor(problems: readonly string[]) {
    super(`svc.security.initial-admin-password cannot be used: ${problems.join(' ')}`);
    this.name = 'InitialPasswordError';
  }
}

/**
 * Chooses the password and writes it to the file: the given one, else the one in the file (from a start that was
 * killed, or for a deleted database), else a random one.
 */
export async function choosePassword({
  file,
  initial,
  username,
}: {
  file: string;
  initial: string | undefined;
  username: string;
}): Promise<string> {
  const kept = await readSecretFile(file);
  if (initial === undefined) {
    if (kept !== undefined && problemsOf(kept, username).length === 0) return kept;
    return written(file, Array.from({ length: passwordLength }, () => alphabet[randomInt(alphabet.length)]).join(''));
  }
  const problems = problemsOf(initial, username);
  if (problems.length > 0) throw new InitialPasswordError(problems);
  return kept === initial ? initial : written(file, initial);
}

/** Also refuses what a line of a file or a form's field cannot hold. */
function problemsOf(password: string, username: string): string[] {
  return /\p{Cc}/u.test(password) ? ['It holds a control character.'] : checkPasswordRules(password, { username });
}

async function written(file: string, password: string): Promise<string> {
  await writeSecretFile(file, password);
  return password;
}
