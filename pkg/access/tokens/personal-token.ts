import { formatTimestamp } from '#pkg/apimachinery/index';

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

/** As it is stored; `is_expired` is the database's word. */
export interface TokenRow {
  id: string;
  name: string;
  display_name: string;
  roles: string[] | null;
  created: Date;
  expires: Date | null;
  revoked: Date | null;
  last_used: Date | null;
  is_expired: boolean;
}

export const tokenColumns =
  'id, name, display_name, roles, created, expires, revoked, last_used, COALESCE(expires <= now(), false) AS is_expired';

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
