import { checkPasswordRules, type PasswordOwner } from '../passwords/check-password-rules.ts';
import type { FieldReader } from '../records/field-reader.ts';

/** Far more than the rules allow, which say it better. */
const longest = 4096;

/** A new password that keeps the rules. */
export function readNewPassword(
  reader: FieldReader,
  field: string,
  owner: PasswordOwner,
  isRequired = false,
): string | undefined {
  const password = reader.text(field, { isRequired, isExact: true, longest });
  if (password === undefined) return undefined;
  const faults = checkPasswordRules(password, owner);
  for (const fault of faults) reader.refuse(field, fault);
  return faults.length === 0 ? password : undefined;
}
