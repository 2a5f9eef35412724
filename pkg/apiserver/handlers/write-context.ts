import type { RequestContext } from '#pkg/http/index';
import type { IdempotencyClaim } from '#pkg/storage/index';
import type { WriteContext } from '../registry/served-resource.ts';
import type { WriteOptions } from './write-options.ts';

/** What a write needs to know of its request. */
export function writeContext(context: RequestContext, { dryRun, fieldValidation }: WriteOptions, idempotency?: IdempotencyClaim): WriteContext {
  return {
    user: context.user,
    requestId: context.id,
    dryRun,
    fieldValidation,
    findings: [],
    ...(idempotency === undefined ? {} : { idempotency }),
    warn: (text) => context.warnings.push(text),
    signal: context.signal,
  };
}
