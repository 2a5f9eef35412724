import { newThrottled } from '../http/access-error.ts';
import { checkPasswordRules, type PasswordOwner } from '../passwords/check-password-rules.ts';
import { TooManyPasswordsError } from '../passwords/turn-queue.ts';
import type { FieldReader } from '../records/field-reader.ts';
import type { UserParts } from './user-parts.ts';

/** Far more than the rules allow, which say it better. */
const longest = 4096;

/** A new password that keeps the rules. */
export function readNewPassword(reader: FieldReader, field: string, owner: PasswordOwner, isRequired = false): string | undefined {
  const password = reader.text(field, { isRequired, isExact: true, longest });
  if (password === undefined) return undefined;
  const faults = checkPasswordRules(password, owner);
  for (const fault of faults) reader.refuse(field, fault);
  return faults.length === 0 ? password : undefined;
}

/** Throws 429 where too many are being hashed. */
export async function hashPassword(hasher: UserParts['hasher'], password: string): Promise<string> {
  try {
    return await hasher.hash(password);
  } catch (error) {
    if (error instanceof TooManyPasswordsError) throw newThrottled(error.retryAfterSeconds);
    throw error;
  }
}
