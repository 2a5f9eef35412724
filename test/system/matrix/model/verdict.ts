/** The required result of one request. */
export interface Verdict {
  readonly allowed: boolean;
  /** One of these; several if the contract does not say which of two faults is reported first. */
  readonly status: readonly number[];
  /** The code in the access service's `{detail, code}`, if the contract defines it. */
  readonly code?: string;
  readonly why: string;
}

export function allow(status: readonly number[], why: string): Verdict {
  return { allowed: true, status, why };
}

export function refuse(status: number | readonly number[], why: string, code?: string): Verdict {
  return {
    allowed: false,
    status: typeof status === 'number' ? [status] : status,
    why,
    ...(code === undefined ? {} : { code }),
  };
}

/**
 * The kind of an unexpected response: it allows what it must refuse, refuses what it must allow, or has another status
 * or code.
 */
export type Fault = 'wrong allow' | 'wrong deny' | 'wrong status' | 'wrong code' | 'wrong review';

/**
 * 401 and 403 refuse; 404 does if the verdict is a 404; 400 to 422 otherwise result from processing the request, which
 * a refused user must not reach.
 */
export function faultOf(verdict: Verdict, answer: { status: number; code: string | undefined }): Fault | undefined {
  if (verdict.status.includes(answer.status))
    return verdict.code !== undefined && verdict.code !== answer.code ? 'wrong code' : undefined;
  if (answer.status >= 500 || answer.status === 429) return 'wrong status';
  const refused = answer.status === 401 || answer.status === 403;
  if (verdict.allowed) return refused ? 'wrong deny' : 'wrong status';
  return refused || answer.status === 404 || answer.status === 405 ? 'wrong status' : 'wrong allow';
}
