import { StatusError, type StatusErrorOptions } from './status-error.ts';
import type { StatusCause } from './status.ts';

/** The reason of the causes of an ApplyConflict. Source: `metav1.CauseTypeFieldManagerConflict`. */
export const fieldManagerConflict = 'FieldManagerConflict';

/** A field that an applied configuration would change, and a manager that owns it. */
export interface FieldConflict {
  /** `.spec.replicas`, `.spec.ports[name="web"].port`. */
  field: string;
  manager: string;
}

/**
 * 409: other managers own fields that an applied configuration would change. `force` takes these fields over. Over the
 * wire each conflict is one of `details.causes`.
 */
export class ApplyConflict extends StatusError {
  /** One for each field and manager. */
  readonly conflicts: readonly FieldConflict[];

  constructor(message: string, options: StatusErrorOptions & { details: { causes: StatusCause[] } }) {
    super(409, 'Conflict', message, options);
    this.name = 'ApplyConflict';
    this.conflicts = options.details.causes.map(({ field = '', message: text }) => ({
      field,
      manager: managerIn(text),
    }));
  }
}

/** The error as a client throws it: the conflicts of an apply, which a Status tells as causes, are an ApplyConflict. */
export function applyConflictOr(error: StatusError): StatusError {
  const { code, reason, message, details, requestId } = error;
  const causes = details?.causes ?? [];
  return code === 409 && reason === 'Conflict' && causes.some((cause) => cause.reason === fieldManagerConflict)
    ? new ApplyConflict(message, { details: { ...details, causes }, requestId })
    : error;
}

export function isApplyConflict(error: unknown): error is ApplyConflict {
  return error instanceof ApplyConflict;
}

const quotedManager = /^conflict with ("(?:[^"\\]|\\.)*")/;

/** A cause names its manager only in its message: `conflict with "blog" using blog.example.com/v1`. */
function managerIn(message: string): string {
  const quoted = quotedManager.exec(message)?.[1];
  if (quoted === undefined) return message;
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted.slice(1, -1);
  }
}
