import { fieldError, newInvalid, StatusError, type GroupVersionKind } from '#pkg/apimachinery/index';
import type { IdempotencyKey } from '#pkg/storage/index';

type RequestKind = Pick<GroupVersionKind, 'group' | 'kind'>;

/** The idempotent requests in progress in this process. */
export class InFlightIdempotencyKeys {
  readonly #bodies = new Map<string, string>();

  /**
   * Records that a request with this idempotency key is in progress. StatusError 409 or 422 if another request uses the
   * key. @returns a function that records the end.
   */
  begin(idempotencyKey: IdempotencyKey, kind: RequestKind): () => void {
    this.check(idempotencyKey, kind);
    const id = idOf(idempotencyKey);
    this.#bodies.set(id, idempotencyKey.bodyHash);
    return () => this.#bodies.delete(id);
  }

  /** StatusError 409 with Retry-After while the idempotency key is in flight, 422 if its request has another body. */
  check(idempotencyKey: IdempotencyKey, kind: RequestKind): void {
    const body = this.#bodies.get(idOf(idempotencyKey));
    if (body === undefined) return;
    checkSameBody(idempotencyKey, body, kind);
    throw new StatusError(409, 'Conflict', 'a request with this Idempotency-Key is in progress', {
      details: { retryAfterSeconds: 1 },
    });
  }
}

/** StatusError 422 where the first request under this idempotency key had another body. */
export function checkSameBody(idempotencyKey: IdempotencyKey, firstBodyHash: string, kind: RequestKind): void {
  if (idempotencyKey.bodyHash === firstBodyHash) return;
  throw newInvalid(kind, '', [
    fieldError.invalid('Idempotency-Key', idempotencyKey.key, 'was used before for a request with another body'),
  ]);
}

function idOf({ user, method, path, key }: IdempotencyKey): string {
  return JSON.stringify([user, method, path, key]);
}
