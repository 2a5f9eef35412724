import type pg from 'pg';
import type { AccessKey } from '../../harness/client/sign-request.ts';
import { basic, type UserCredentials, type SessionCookies } from '../wire/credential-store.ts';
import { logIn, makeKey } from './prepare-users.ts';
import { makePersonalToken, personalTokens } from './personal-tokens.ts';
import type { WorldApi } from './world-api.ts';

type Dead = Record<string, string | AccessKey | SessionCookies>;

interface SpoilParts {
  readonly api: WorldApi;
  readonly pool: pg.Pool;
  /** Replaces the private token by another. */
  readonly rotatePrivateToken: (user: string) => Promise<string>;
}

/** Secrets that are no longer valid, or are for another address: `<kind>: <fault>` as in `model/credentials.ts`. */
export async function spoilCredentials(
  { username, password, bearer, session, personalToken, privateToken }: UserCredentials,
  { api, pool, rotatePrivateToken }: SpoilParts,
): Promise<{ dead: Dead; privateToken?: string }> {
  const inactive = await makeKey(api, bearer, {});
  await api.access('PATCH', `/api/v1/authentication/access-keys/${inactive.id}/`, {
    token: bearer,
    body: { is_active: false },
  });
  const elsewhere = await makeKey(api, bearer, { ip_group: ['192.0.2.7'] });
  const expiredBearer = await logIn(api, username, password);
  const expiredSession = await api.logIn(username, password);
  const past = "now() - interval '1 minute'";
  await expire(
    pool,
    `UPDATE access.bearer_tokens SET expires = ${past} WHERE hash = sha256($1::text::bytea)`,
    expiredBearer,
  );
  await expire(
    pool,
    `UPDATE access.sessions SET expires = ${past} WHERE hash = sha256($1::text::bytea)`,
    expiredSession.id,
  );
  const [expired, revoked, deleted] = await Promise.all(
    ['expired', 'revoked', 'deleted'].map((name) => makePersonalToken(api, session, { name: `matrix-${name}` })),
  );
  await expire(
    pool,
    `UPDATE access.personal_tokens SET expires = ${past} WHERE hash = sha256($1::text::bytea)`,
    expired!,
  );
  await api.platform('PUT', `${personalTokens}/matrix-revoked/actions/revocation`, { session });
  await api.platform('DELETE', `${personalTokens}/matrix-deleted`, { session });
  const dead: Dead = {
    'bearer: expired': expiredBearer,
    ...(privateToken === undefined ? {} : { 'private: replaced': privateToken }),
    'signature: inactive key': inactive,
    'signature: other address': elsewhere,
    'message signature: inactive key': inactive,
    'personal: expired': expired!,
    'personal: revoked': revoked!,
    'personal: deleted': deleted!,
    'basic: wrong password': basic(username, `${password}x`),
    'basic: personal token as password': basic(username, personalToken),
    'session: expired': expiredSession,
    'session: ended': await endedSession(api, username, password),
  };
  return { dead, ...(privateToken === undefined ? {} : { privateToken: await rotatePrivateToken(username) }) };
}

/** Credentials that a change of the password invalidates; `userCredentials` gets the new one. */
export async function changePassword(userCredentials: UserCredentials, api: WorldApi): Promise<UserCredentials> {
  const { username, password, session, bearer } = userCredentials;
  const fresh = `${password}-new`;
  const other = await api.logIn(username, password);
  await api.access('PUT', '/api/v1/users/profile/password/', {
    session: other,
    body: { old_password: password, new_password: fresh, new_password_again: fresh },
  });
  return {
    ...userCredentials,
    password: fresh,
    session: other,
    bearer: await logIn(api, username, fresh),
    dead: { ...userCredentials.dead, 'bearer: old password': bearer, 'session: old password': session },
  };
}

async function endedSession(api: WorldApi, username: string, password: string): Promise<SessionCookies> {
  const session = await api.logIn(username, password);
  const sessions = await api.access<{ id: string; is_current: boolean }[]>('GET', '/api/v1/authentication/sessions/', {
    session,
  });
  await api.access('DELETE', `/api/v1/authentication/sessions/${sessions.find((each) => each.is_current)!.id}/`, {
    session,
  });
  return session;
}

async function expire(pool: pg.Pool, statement: string, secret: string): Promise<void> {
  const { rowCount } = await pool.query(statement, [secret]);
  if (rowCount !== 1) throw new Error(`nothing expired by: ${statement}`);
}
