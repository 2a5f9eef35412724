/** Machine-readable cause of a failure. Source: `metav1.StatusReason`. */
export type StatusReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Expired'
  | 'PreconditionFailed'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'Invalid'
  | 'TooManyRequests'
  | 'InternalError'
  | 'ServiceUnavailable'
  | 'Timeout';

/** The cause of a failure in one field. */
export interface StatusCause {
  /** `FieldValueRequired`, `FieldValueInvalid`, `UnexpectedServerResponse`...: `metav1.CauseType`. */
  reason: string;
  message: string;
  /** JSON path of the field: `spec.tags[2]`. */
  field?: string;
}

export interface StatusDetails {
  /** Name of the object. */
  name?: string;
  group?: string;
  /** The plural for NotFound, AlreadyExists and Conflict; the kind for Invalid. */
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** The body of every failure, and of a completed DELETE. Source: `metav1.Status`. */
export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code: number;
}
