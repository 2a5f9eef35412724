import type { TObject, TSchema } from 'typebox';
import type { AnswerHeaders, PageFile } from '#pkg/http/index';
import type { Caller } from '../http/caller.ts';
import type { AccessRequest } from '../http/access-request.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One request on its way to the code that answers it. */
export interface OpenCall {
  readonly request: AccessRequest;
  /** Of the path, decoded. */
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
  /** Instead of `body`: sent at the client's pace, never whole in memory. */
  readonly stream?: AsyncIterable<string>;
  /** Instead of all others: a file that stays as it is, which a browser may keep. */
  readonly file?: PageFile;
  readonly headers?: AnswerHeaders;
}

/** What the reference says of an operation, beyond what can be seen of it. */
export interface OperationDocument {
  readonly summary: string;
  readonly description?: string;
  /** Users, Organizations, Roles, Authentication, Access keys, Audit. */
  readonly tag: string;
  /** Is the call made within an organization, which `X-SVC-ORG` or `oid` selects? */
  readonly inOrganization?: boolean;
  /** Does it answer a list, of which `limit` and `offset` select a page? */
  readonly isList?: boolean;
  readonly query?: TObject;
  readonly body?: TObject;
  /** Schema of the body by status, or null where there is none; what every operation may answer (401, 403, 429) is added. */
  readonly answers: Readonly<Record<number, TSchema | null>>;
}

/** Where it is served. */
export interface OperationRoute {
  readonly method: Method;
  /** With its trailing slash, which clients may leave away: `/api/v1/users/users/{id}/`. */
  readonly path: string;
  readonly operationId: string;
}

export interface OperationDeclaration extends OperationRoute, OperationDocument {}

interface OperationBase extends OperationRoute {
  /** Absent for pages, which are no part of the API. */
  readonly document?: OperationDocument;
}

/** Anyone may ask; a wrong credential is 401 all the same. */
export interface OpenOperation extends OperationBase {
  readonly access: 'open';
  /**
   * Default false. A request with a session needs no CSRF token: a login does not act for the session's user, and the
   * login page has a token of its own.
   */
  readonly needsNoCsrfToken?: boolean;
  handle(call: OpenCall): Promise<AccessResponse>;
}

/** Whoever has a credential may ask; what more it takes the operation looks at itself. */
export interface UserOperation extends OperationBase {
  readonly access: 'user';
  handle(call: Call): Promise<AccessResponse>;
}

export type Operation = OpenOperation | UserOperation;

export function jsonAnswer(status: number, value: unknown, headers?: AnswerHeaders): AccessResponse {
  return { status, body: JSON.stringify(value), ...(headers === undefined ? {} : { headers }) };
}

export const noContent: AccessResponse = { status: 204 };
