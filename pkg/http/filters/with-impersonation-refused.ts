import { StatusError } from '#pkg/apimachinery/index';
import type { Filter } from '../request-context.ts';

/** 403 for any `Impersonate-` header: ignoring one would do as oneself what was asked to be done as somebody else. */
export function withImpersonationRefused(): Filter {
  return (next) => async (context) => {
    const { rawHeaders } = context.request;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!;
      // Compared only where the first letter can match: this runs for every header of every request.
      if (name.length > 12 && (name.charCodeAt(0) | 0x20) === 0x69 && name.slice(0, 12).toLowerCase() === 'impersonate-') {
        throw new StatusError(403, 'Forbidden', 'impersonation is not supported');
      }
    }
    await next(context);
  };
}
