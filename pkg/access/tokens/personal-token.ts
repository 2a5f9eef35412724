import { sql, type Selectable } from 'kysely';
import { formatTimestamp } from '#pkg/apimachinery/index';
import type { AccessTables } from '../access-tables.ts';

export const tokenGroup = 'uc.api.security.svc.run';
export const tokenVersion = 'v1alpha1';
export const tokenKind = { group: tokenGroup, kind: 'PersonalAccessToken' };
export const tokenResource = { group: tokenGroup, resource: 'personalaccesstokens' };
const apiVersion = `${tokenGroup}/${tokenVersion}`;

/** A personal token in the API; only the answer to its creation holds the token itself. */
export interface PersonalToken {
  apiVersion: string;
  kind: 'PersonalAccessToken';
  metadata: { name: string; uid: string; creationTimestamp: string };
  spec: {
    displayName?: string;
    /** Absent: never expires. */
    expiresAt?: string;
    /** ClusterRoles that it is restricted to; absent: it has all rights of its owner. */
    roles?: readonly string[];
    revoked: boolean;
  };
  status: {
    expired: boolean;
    /** Accurate to the minute. */
    lastUsed?: string;
    revokedAt?: string;
    /** Only in the answer to the creation. */
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

/** A row; PostgreSQL computes `is_expired`. */
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
