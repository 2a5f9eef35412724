import { sql, type Selectable } from 'kysely';
import { formatTimestamp } from '#pkg/apimachinery/index';
import type { AccessTables } from '../access-tables.ts';

export const tokenGroup = 'uc.api.security.svc.run';
export const tokenVersion = 'v1alpha1';
export const tokenKind = { group: tokenGroup, kind: 'PersonalAccessToken' };
export const tokenResource = { group: tokenGroup, resource: 'personalaccesstokens' };
const apiVersion = `${tokenGroup}/${tokenVersion}`;

/** A personal token as the API shows it: never the token itself, but for the answer to its creation. */
export interface PersonalToken {
  apiVersion: string;
  kind: 'PersonalAccessToken';
  metadata: { name: string; uid: string; creationTimestamp: string };
  spec: {
    displayName?: string;
    /** Absent: never. */
    expiresAt?: string;
    /** ClusterRoles that it is narrowed to; absent: it can do what its owner can. */
    roles?: readonly string[];
    revoked: boolean;
  };
  status: {
    expired: boolean;
    /** To the minute. */
    lastUsed?: string;
    revokedAt?: string;
    /** Once. */
    token?: string;
  };
}

export const tokenColumns = [
  'id',
  'name',
  'display_name',
  'roles',
  'created',
  'expires',
  'revoked',
  'last_used',
  sql<boolean>`coalesce(expires <= now(), false)`.as('is_expired'),
] as const;

/** As it is stored; `is_expired` is the database's word. */
export interface TokenRow extends Pick<
  Selectable<AccessTables['access.personal_tokens']>,
  Extract<(typeof tokenColumns)[number], string>
> {
  is_expired: boolean;
}

export function presentToken({
  id,
  name,
  display_name: displayName,
  roles,
  created,
  expires,
  revoked,
  last_used: lastUsed,
  is_expired: expired,
}: TokenRow): PersonalToken {
  return {
    apiVersion,
    kind: 'PersonalAccessToken',
    metadata: { name, uid: id, creationTimestamp: time(created) },
    spec: {
      ...(displayName === '' ? {} : { displayName }),
      ...(expires === null ? {} : { expiresAt: time(expires) }),
      ...(roles === null ? {} : { roles }),
      revoked: revoked !== null,
    },
    status: {
      expired,
      ...(lastUsed === null ? {} : { lastUsed: time(lastUsed) }),
      ...(revoked === null ? {} : { revokedAt: time(revoked) }),
    },
  };
}

export function tokenList(items: readonly PersonalToken[]): object {
  return { apiVersion, kind: 'PersonalAccessTokenList', metadata: {}, items };
}

const time = (date: Date): string => formatTimestamp(date.getTime());
