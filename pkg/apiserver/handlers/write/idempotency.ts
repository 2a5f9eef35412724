import { createHash } from 'node:crypto';
import { newBadRequest } from '#pkg/apimachinery/index';
import type { RequestContext } from '#pkg/http/index';
import type { IdempotencyKey } from '#pkg/storage/index';

const form = /^[\x20-\x7e]{1,255}$/;

/** Set on an answer that repeats an earlier request's outcome. */
export const replayedHeader = { 'Idempotent-Replayed': 'true' };

/**
 * The idempotency key of a request; undefined without the header Idempotency-Key.
 * A dry run remembers nothing, so a key on it is refused rather than ignored: the caller would rely on it.
 * @throws StatusError 400 for a key that is not 1 to 255 printable ASCII characters, or on a dry run.
 */
export function readIdempotencyKey(
  { request, info, user }: RequestContext,
  body: Buffer,
  dryRun: boolean,
): IdempotencyKey | undefined {
  const key = idempotencyKey(request.headers['idempotency-key']);
  if (key === undefined) return undefined;
  if (dryRun)
    throw newBadRequest(
      'the header Idempotency-Key cannot be combined with a dry run, which stores nothing that could be remembered',
    );
  const bodyHash = createHash('sha256').update(body).digest('base64url');
  return { user: user.name, method: request.method ?? '', path: info.path, key, bodyHash };
}

/** @throws StatusError 400 for a request that carries a key, where none can be honoured. */
export function refuseIdempotencyKey({ request }: RequestContext, reason: string): void {
  if (request.headers['idempotency-key'] !== undefined)
    throw newBadRequest(`the header Idempotency-Key is not supported here: ${reason}`);
}

function idempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !form.test(header))
    throw newBadRequest('the header Idempotency-Key must be 1 to 255 printable ASCII characters');
  return header;
}
