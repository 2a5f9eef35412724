import type { WireRequest } from '../../harness/wire/wire-request.ts';
import type { Answer } from '../../harness/wire/answer.ts';

/** The reason why a request of any kind must not succeed; undefined if it may. */
export function acceptedMistake({ method, target, headers, raw }: WireRequest, { status }: Answer): string | undefined {
  if (raw !== undefined || status >= 400) return undefined;
  if (!isDecodable(target)) return `a malformed percent escape was answered ${status}`;
  const isApply = headers.some(([, value]) => value.startsWith('application/apply-patch+yaml'));
  if (method === 'PATCH' && !isApply && /[?&]force(?:[=&]|$)/.test(target))
    return `force on a patch that is no apply was answered ${status}`;
  return undefined;
}

function isDecodable(target: string): boolean {
  try {
    decodeURIComponent(target);
    return true;
  } catch {
    return false;
  }
}
