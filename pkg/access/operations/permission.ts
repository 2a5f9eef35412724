import { newPermissionDenied } from '../http/access-error.ts';
import { isAdministrator, isAuditor, type Caller } from '../http/caller.ts';
import type { Call } from './operation.ts';

/** Who may call an operation. */
export interface OperationPermission<Granted = void> {
  /**
   * Throws 403, or another error, if the caller lacks the permission. The result is passed to the operation, for
   * example the organization.
   */
  check(call: Call): Granted | Promise<Granted>;
}

export const anyUser: OperationPermission = { check: () => undefined };
export const administrators: OperationPermission = ifCaller(isAdministrator);
/** SystemAuditor and SystemAdmin. */
export const auditors: OperationPermission = ifCaller(isAuditor);

export function ifCaller(isPermitted: (caller: Caller) => boolean): OperationPermission {
  return {
    check: ({ caller }) => {
      if (!isPermitted(caller)) throw newPermissionDenied();
    },
  };
}
