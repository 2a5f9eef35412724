import type { JsonValue } from '#pkg/apimachinery/index';
import type { UserInfo } from '#pkg/identity/index';
import { isAtLeast, type AuditLevel } from './audit-level.ts';
import type { AuditStage } from './audit-stage.ts';
import { printable } from './printable.ts';
import { redact, redactUri } from './redact.ts';

/** Characters. */
const maxUserAgentLength = 256;

/** The record of a request at one stage. Fields without content are absent. Source: audit.k8s.io/v1 Event. */
export interface AuditEvent {
  readonly kind: 'Event';
  readonly apiVersion: 'audit.k8s.io/v1';
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  /** Without the values of secret parameters. */
  readonly requestURI: string;
  readonly verb: string;
  /** The authenticated user, also if it impersonates another. */
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser;
  /** All but the last may be sent by the client. */
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  /** Only of a request for a resource. */
  readonly objectRef?: AuditObjectRef;
  readonly responseStatus?: AuditResponseStatus;
  /** From level Request on, redacted. */
  readonly requestObject?: JsonValue;
  /** At level RequestResponse, redacted. */
  readonly responseObject?: JsonValue;
  /** As `stageTimestamp`: RFC 3339, UTC, with microseconds. */
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface AuditUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  /** Which credential it was, among others: see `credentialIdKey`. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface AuditObjectRef {
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiGroup?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
  readonly subresource?: string;
}

export interface AuditResponseStatus {
  readonly metadata: Readonly<Record<string, never>>;
  /** `Failure` for a code from 400 on. */
  readonly status?: 'Failure';
  readonly code: number;
}

/** What is known of a request when it arrives. A part that it does not have is ''. */
export interface AuditedRequest {
  readonly auditID: string;
  readonly requestURI: string;
  readonly verb: string;
  /** The authenticated user. */
  readonly user: UserInfo;
  readonly impersonatedUser?: UserInfo | undefined;
  readonly sourceIPs: readonly string[];
  readonly userAgent?: string | undefined;
  readonly group: string;
  readonly version: string;
  /** '' for a request that is not for a resource. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Milliseconds since 1970; may have a fraction. */
  readonly receivedAt: number;
}

export interface AuditEventOptions {
  readonly level: AuditLevel;
  readonly stage: AuditStage;
  /** When the stage was reached. Milliseconds since 1970; may have a fraction. */
  readonly at: number;
  /** HTTP status of the response. Default: there is none yet. */
  readonly code?: number | undefined;
  /** Of the object, as far as it is known. Default: namespace and name of the request. */
  readonly object?:
    | { readonly namespace?: string; readonly name?: string; readonly uid?: string; readonly resourceVersion?: string }
    | undefined;
  /** Ignored at a level that does not record it, and for a request that is not for a resource. */
  readonly requestObject?: JsonValue | undefined;
  readonly responseObject?: JsonValue | undefined;
  /** Default false. */
  readonly omitManagedFields?: boolean | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/**
 * The event of a request, safe to store and show: objects and URI are redacted, the user agent has at most 256
 * characters, and no text has a character that PostgreSQL refuses.
 */
export function newAuditEvent(request: AuditedRequest, options: AuditEventOptions): AuditEvent {
  const { level, stage, at, annotations = {} } = options;
  const { impersonatedUser, userAgent = '', sourceIPs } = request;
  const objectAt = (wanted: AuditLevel, object: JsonValue | undefined): JsonValue | undefined =>
    object === undefined || request.resource === '' || !isAtLeast(level, wanted) ? undefined : redact(object, options);
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level,
    auditID: printable(request.auditID),
    stage,
    requestURI: printable(redactUri(request.requestURI)),
    verb: printable(request.verb),
    user: auditUser(request.user),
    ...filled({
      impersonatedUser: impersonatedUser && auditUser(impersonatedUser),
      sourceIPs: sourceIPs.map(printable),
      userAgent: printable(userAgent.slice(0, maxUserAgentLength)),
      objectRef: objectRef(request, options),
      responseStatus: responseStatus(options),
      requestObject: objectAt('Request', options.requestObject),
      responseObject: objectAt('RequestResponse', options.responseObject),
    }),
    requestReceivedTimestamp: formatMicroTime(request.receivedAt),
    stageTimestamp: formatMicroTime(at),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations: printableRecord(annotations) }),
  };
}

/** `2026-01-31T09:30:00.123456Z`. `ms`: milliseconds since 1970, rounded to microseconds; in the years 0 to 9999. */
export function formatMicroTime(ms: number): string {
  if (Number.isInteger(ms)) return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
  const microseconds = Math.round(ms * 1000);
  const whole = Math.floor(microseconds / 1000);
  return `${new Date(whole).toISOString().slice(0, -1)}${String(microseconds - whole * 1000).padStart(3, '0')}Z`;
}

function auditUser({ name, uid, groups, extra }: UserInfo): AuditUser {
  return {
    username: printable(name),
    ...filled({ uid: printable(uid), groups: groups.map(printable), extra: extra && printableLists(extra) }),
  };
}

function printableLists(lists: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(lists).map(([key, values]) => [printable(key), values.map(printable)]));
}

function objectRef(request: AuditedRequest, { object = {} }: AuditEventOptions): AuditObjectRef | undefined {
  if (request.resource === '') return undefined;
  return {
    resource: printable(request.resource),
    ...filled({
      namespace: printable(object.namespace ?? request.namespace),
      name: printable(object.name ?? request.name),
      uid: printable(object.uid ?? ''),
      apiGroup: printable(request.group),
      apiVersion: printable(request.version),
      resourceVersion: printable(object.resourceVersion ?? ''),
      subresource: printable(request.subresource),
    }),
  };
}

function responseStatus({ code }: AuditEventOptions): AuditResponseStatus | undefined {
  if (code === undefined) return undefined;
  return {
    metadata: {},
    ...(code >= 400 ? { status: 'Failure' } : {}),
    code,
  };
}

function printableRecord(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [printable(key), printable(value)]));
}

/** Without fields that are undefined, '' or an empty list. */
function filled<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const kept: Partial<T> = {};
  // A loop, because each write passes here several times.
  for (const key of Object.keys(fields) as (keyof T)[]) {
    const value = fields[key];
    if (value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)) kept[key] = value;
  }
  return kept as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}
