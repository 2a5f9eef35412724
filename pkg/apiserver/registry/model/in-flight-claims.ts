import { fieldError, newInvalid, StatusError, type GroupVersionKind } from '#pkg/apimachinery/index';
import type { IdempotencyClaim } from '#pkg/storage/index';

type ClaimedKind = Pick<GroupVersionKind, 'group' | 'kind'>;

/** The idempotent requests that this process is working on. */
export class InFlightClaims {
  private readonly bodies = new Map<string, string>();

  /** Notes that work on a claim begins. StatusError 409 or 422 if another request has it. @returns notes its end. */
  begin(claim: IdempotencyClaim, kind: ClaimedKind): () => void {
    this.check(claim, kind);
    const id = idOf(claim);
    this.bodies.set(id, claim.bodyHash);
    return () => this.bodies.delete(id);
  }

  /** StatusError 409 with Retry-After while the claim is in flight, 422 if that is with another body. */
  check(claim: IdempotencyClaim, kind: ClaimedKind): void {
    const body = this.bodies.get(idOf(claim));
    if (body === undefined) return;
    checkSameBody(claim, body, kind);
    throw new StatusError(409, 'Conflict', 'a request with this Idempotency-Key is in progress', {
      details: { retryAfterSeconds: 1 },
    });
  }
}

/** StatusError 422 where the first request under this claim had another body. */
export function checkSameBody(claim: IdempotencyClaim, firstBodyHash: string, kind: ClaimedKind): void {
  if (claim.bodyHash === firstBodyHash) return;
  throw newInvalid(kind, '', [
    fieldError.invalid('Idempotency-Key', claim.key, 'was used before for a request with another body'),
  ]);
}

function idOf({ user, method, path, key }: IdempotencyClaim): string {
  return JSON.stringify([user, method, path, key]);
}
