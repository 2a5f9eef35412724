import type { TObject, TSchema } from 'typebox';
import type { AnswerHeaders, PageFile } from '#pkg/http/index';
import type { Caller } from '../http/caller.ts';
import type { AccessRequest } from '../http/access-request.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A request, as a handler gets it. */
export interface OpenCall {
  readonly request: AccessRequest;
  /** Parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly caller: Caller | undefined;
}

export interface Call extends OpenCall {
  readonly caller: Caller;
}

export interface AccessResponse {
  readonly status: number;
  /** Default `application/json`. */
  readonly contentType?: string;
  readonly body?: string | Buffer;
  /** Replaces `body`: sent at the client's pace, never whole in memory. */
  readonly stream?: AsyncIterable<string>;
  /** Replaces all others: a static file that a browser may cache. */
  readonly file?: PageFile;
  readonly headers?: AnswerHeaders;
}

/** The part of an operation's documentation that cannot be derived from its code. */
export interface OperationDocument {
  readonly summary: string;
  readonly description?: string;
  /** Users, Organizations, Roles, Authentication, Access keys, Audit. */
  readonly tag: string;
  /** Is the call made within an organization, which `X-SVC-ORG` or `oid` selects? */
  readonly inOrganization?: boolean;
  readonly query?: TObject;
  readonly body?: TObject;
  /** Body schema by status, null for no body; the answers of every operation (401, 403, 429) are added. */
  readonly answers: Readonly<Record<number, TSchema | null>>;
}

/** Method and path. */
export interface OperationRoute {
  readonly method: Method;
  /** With its trailing slash, which clients may omit: `/api/v1/users/users/{id}/`. */
  readonly path: string;
  readonly operationId: string;
}

export interface OperationDeclaration extends OperationRoute, OperationDocument {}

interface OperationBase extends OperationRoute {
  /** Absent for pages, which are not part of the API. */
  readonly document?: OperationDocument;
}

/** Needs no credential; a wrong one is still 401. */
export interface OpenOperation extends OperationBase {
  readonly access: 'open';
  /**
   * Default false. A request with a session needs no CSRF token: a login does not act for the session's user, and the
   * login page has a token of its own.
   */
  readonly needsNoCsrfToken?: boolean;
  /** Default false. Is a page of another site refused, also without a session? A login that sets cookies is. */
  readonly refusesOtherSites?: boolean;
  handle(call: OpenCall): Promise<AccessResponse>;
}

/** Needs a credential; the operation checks further permissions itself. */
export interface UserOperation extends OperationBase {
  readonly access: 'user';
  handle(call: Call): Promise<AccessResponse>;
}

export type Operation = OpenOperation | UserOperation;

export function jsonAnswer(status: number, value: unknown, headers?: AnswerHeaders): AccessResponse {
  return { status, body: JSON.stringify(value), ...(headers === undefined ? {} : { headers }) };
}

export const noContent: AccessResponse = { status: 204 };
