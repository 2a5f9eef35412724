/** What the contract says of one request. */
export interface Verdict {
  readonly allowed: boolean;
  /** One of these; several where the contract leaves open which of two faults is told first. */
  readonly status: readonly number[];
  /** Of the access service's `{detail, code}`, where the contract names it. */
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
 * Of an answer that is not what was expected: does it let in whom it should not, keep out whom it should not, or say it
 * in another way?
 */
export type Fault = 'wrong allow' | 'wrong deny' | 'wrong status' | 'wrong code' | 'wrong review';

/**
 * 401 and 403 refuse; 404 does where the verdict is one; 400 to 422 otherwise come of looking at what was asked for,
 * which the refused must not get to.
 */
export function faultOf(verdict: Verdict, answer: { status: number; code: string | undefined }): Fault | undefined {
  if (verdict.status.includes(answer.status))
    return verdict.code !== undefined && verdict.code !== answer.code ? 'wrong code' : undefined;
  if (answer.status >= 500 || answer.status === 429) return 'wrong status';
  const refused = answer.status === 401 || answer.status === 403;
  if (verdict.allowed) return refused ? 'wrong deny' : 'wrong status';
  return refused || answer.status === 404 || answer.status === 405 ? 'wrong status' : 'wrong allow';
}
