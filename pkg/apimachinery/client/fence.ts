import { isStatusError, newBadRequest } from '../status/status-error.ts';
import { validateName } from '../validation/name.ts';
import type { Fence } from './client.ts';

/** The header that carries a fence: `<namespace>/<lease>@<transitions>`. */
export const fenceHeader = 'X-SVC-Fence';

const form = /^([^/@]{1,63})\/([^/@]{1,253})@(0|[1-9][0-9]{0,9})$/;
/** `leaseTransitions` is an int32. */
const maxTransitions = 2 ** 31 - 1;

export function formatFence({ namespace, lease, transitions }: Fence): string {
  return `${namespace}/${lease}@${transitions}`;
}

/**
 * @throws StatusError 400 that names the header and the rule, unless namespace, name and number are valid for a Lease.
 */
export function parseFence(text: string): Fence {
  const match = form.exec(text);
  if (match === null) throw newMalformed('must be <namespace>/<lease>@<transitions>, such as default/publishing@3');
  const [namespace, lease, transitions] = [match[1]!, match[2]!, Number(match[3])];
  const ofNamespace = validateName(namespace, 'dns-label');
  if (ofNamespace !== undefined) throw newMalformed(`names no namespace: ${ofNamespace}`);
  const ofLease = validateName(lease, 'dns-subdomain');
  if (ofLease !== undefined) throw newMalformed(`names no lease: ${ofLease}`);
  if (transitions > maxTransitions) throw newMalformed(`has a number of transitions beyond ${maxTransitions}`);
  return { namespace, lease, transitions };
}

/** Whether a write was refused because its lease has another holder. A retry with the same fence is refused too. */
export function isFenceLost(error: unknown): boolean {
  return isStatusError(error, 'Conflict') && error.details?.causes?.some(({ field }) => field === fenceHeader) === true;
}

function newMalformed(rule: string): Error {
  return newBadRequest(`the header ${fenceHeader} ${rule}`);
}
