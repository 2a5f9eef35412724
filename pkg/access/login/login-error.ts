import { AccessError } from '../http/access-error.ts';

/** Reason of a failed login. Only a client with the right password learns that a user is inactive or expired. */
export type LoginFailure = 'password_failed' | 'block_login' | 'user_inactive' | 'user_expired';

/** 400 `{error, msg}`, with the texts that login clients know. */
export class LoginError extends AccessError {
  readonly reason: LoginFailure;

  constructor(reason: LoginFailure, message: string) {
    super(400, { error: reason, msg: message });
    this.name = 'LoginError';
    this.reason = reason;
  }
}

class AddressLockedError extends LoginError {}

/**
 * The message gives the limit, not the count, as failures by username and by e-mail count together, which would reveal
 * that both are of one account.
 */
export function newPasswordFailed({ failures, seconds }: { failures: number; seconds: number }): LoginError {
  return new LoginError(
    'password_failed',
    `The username or password you entered is incorrect. After ${failures} failed attempts in ${inMinutes(Math.ceil(seconds / 60))} an account is locked.`,
  );
}

/** The password was right when checked. */
export const newPasswordChanged = (): LoginError =>
  new LoginError('password_failed', 'The password was changed at this moment. Try again with the new one.');
export const newAccountLocked = (minutes: number): LoginError =>
  new LoginError(
    'block_login',
    `This account is locked after too many failed logins. Try again in ${inMinutes(minutes)}, or ask an administrator to unlock it.`,
  );
export const newAddressLocked = (minutes: number): LoginError =>
  new AddressLockedError(
    'block_login',
    `Too many failed logins from your address. Try again in ${inMinutes(minutes)}.`,
  );
/** Is the client's address locked, and not the account? */
export const isOfAddress = (error: LoginError): boolean => error instanceof AddressLockedError;
export const newUserInactive = (): LoginError =>
  new LoginError('user_inactive', 'This account is disabled. Ask an administrator.');
export const newUserExpired = (): LoginError =>
  new LoginError('user_expired', 'This account has expired. Ask an administrator.');

function inMinutes(minutes: number): string {
  return `${minutes} minute${minutes === 1 ? '' : 's'}`;
}
