import { fenceHeader, newBadRequest, parseFence, type Fence } from '#pkg/apimachinery/index';
import type { RequestContext } from '#pkg/http/index';
import type { IdempotencyKey } from '#pkg/storage/index';
import { WriteContext } from '../../rest/write-context.ts';
import { copiesOfWrite, readRoom } from '../request/read-room.ts';
import type { WriteParameters } from './write-options.ts';

/** What a write needs to know of its request. @throws StatusError 400 for a fence that is none. */
export function writeContext(
  context: RequestContext,
  { dryRun, fieldValidation }: WriteParameters,
  idempotency?: IdempotencyKey,
): WriteContext {
  return new WriteContext({
    user: context.user,
    requestId: context.id,
    signal: context.signal,
    dryRun,
    fieldValidation,
    idempotency,
    fence: readFence(context),
    warn: (text) => context.warnings.push(text),
    memory: {
      room: readRoom(context, copiesOfWrite),
      parse: (bytes, options) => context.bytes.parse(bytes, { extra: true, ...options }),
    },
  });
}

const fenceName = fenceHeader.toLowerCase();

function readFence({ request }: RequestContext): Fence | undefined {
  const header = request.headers[fenceName];
  if (header === undefined) return undefined;
  if (typeof header !== 'string') throw newBadRequest(`the header ${fenceHeader} must be given once`);
  return parseFence(header);
}
