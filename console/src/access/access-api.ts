import { server } from '../server/server.ts';
import type { ShownRecords } from '../snippet/shown-request.ts';

export const usersPath = '/api/v1/users/users/';
export const orgsPath = '/api/v1/orgs/orgs/';
export const rolesPath = '/api/v1/rbac/roles/';
export const keysPath = '/api/v1/authentication/access-keys/';
export const sessionsPath = '/api/v1/authentication/sessions/';
export const profilePath = '/api/v1/users/profile/';
export const tokensPath = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';

/** The organization of all users: for callers who may read everything. */
export const rootOrg = '00000000-0000-0000-0000-000000000000';

export interface RoleName {
  id: string;
  name: string;
  display_name: string;
}

export interface AccessRole extends RoleName {
  scope: RoleScope;
  permissions: string[];
}

export interface UserRecord {
  id: string;
  username: string;
  name: string;
  email: string | null;
  is_active: boolean;
  is_expired: boolean;
  date_joined: string;
  date_expired: string | null;
  last_login: string | null;
  created_by: string;
  comment: string;
  /** On the content platform. */
  groups: string[];
  system_roles: RoleName[];
  /** Of the organization that was asked for; of ROOT all, each with its `org`. */
  org_roles: (RoleName & { org?: string })[];
}

export interface OrgRecord {
  id: string;
  name: string;
  builtin: boolean;
  is_root: boolean;
  comment: string;
  created_by: string;
  date_created: string;
  namespace: string | null;
  namespace_ready: boolean;
}

export type RoleScope = 'system' | 'org';

/** A role that a user has. */
export interface RoleBinding {
  id: string;
  scope: RoleScope;
  user: string;
  user_display: string;
  role_name: string;
  role_display: string;
  /** Absent for the whole system. */
  org?: string;
  org_name?: string;
  created_by: string;
  date_created: string;
}

export const bindingsPath = (scope: RoleScope): string => `/api/v1/rbac/${scope}-role-bindings/`;

export interface RecordPage<T> {
  count: number;
  results: T[];
}

/** What is undefined or empty is not sent. */
export type RecordQuery = Readonly<Record<string, string | undefined>>;

/** A longer list is read page by page. */
export const maxPageSize = 1000;

/** What a page of a list shows. */
export const pageSize = 25;

/** @throws StatusError */
export async function readRecords<T>(
  path: string,
  query: RecordQuery,
  { limit, offset = 0, signal }: { limit: number; offset?: number; signal?: AbortSignal },
): Promise<RecordPage<T>> {
  const sent = queryOf(pageQuery(query, limit, offset));
  const answer = await server.read(path, { query: sent, ...(signal === undefined ? {} : { signal }) });
  return answer as RecordPage<T>;
}

function pageQuery(query: RecordQuery, limit: number, offset: number): RecordQuery {
  return { ...query, limit: String(limit), offset: String(offset) };
}

/** One page of a list of records, as `useRecords` reads it. */
export function shownPage(path: string, query: RecordQuery, page: number): ShownRecords {
  return shownRecord(path, pageQuery(query, pageSize, page * pageSize));
}

export function shownRecord(path: string, query: RecordQuery = {}): ShownRecords {
  return { path, query: queryOf(query), token: path.startsWith('/apis/') ? 'platform' : 'access' };
}

/** @throws StatusError */
export async function readRecord<T>(path: string, query: RecordQuery = {}, signal?: AbortSignal): Promise<T> {
  return (await server.read(path, { query: queryOf(query), ...(signal === undefined ? {} : { signal }) })) as T;
}

/** @throws StatusError */
export async function send<T = unknown>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
  query: RecordQuery = {},
): Promise<T> {
  return (await server.send(path, { method, query: queryOf(query), ...(body === undefined ? {} : { body }) })) as T;
}

export const onePath = (path: string, id: string): string => `${path}${encodeURIComponent(id)}/`;

function queryOf(query: RecordQuery): URLSearchParams {
  const sent = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
  );
  return new URLSearchParams(sent);
}
