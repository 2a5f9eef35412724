import { authorizationKey, secretKey, type CredentialKey, type CredentialReader } from '#pkg/http/index';
import { readCookies, sessionCookie } from './cookies.ts';

const keyIdOfDraft = /^signature\s[^]*?\bkeyid\s*=\s*"?([0-9a-f-]{36})/i;
const keyIdOfMessage = /;\s*keyid="([0-9a-f-]{36})"/i;

/**
 * Identifies the credential of a request: the Authorization header, without one the session cookie, and for signatures,
 * which differ in each request, the key's id, which is public.
 */
export const credentialKeyOf: CredentialReader = (headers) => {
  const { authorization } = headers;
  if (authorization !== undefined) return signed(keyIdOfDraft.exec(authorization)) ?? authorizationKey(headers);
  const input = headers['signature-input'];
  if (input !== undefined) return signed(keyIdOfMessage.exec(String(input))) ?? secretKey(String(input));
  return sessionKey(headers);
};

/** The same for the content platform, which accepts no signatures. */
export const platformCredentialKeyOf: CredentialReader = (headers) => authorizationKey(headers) ?? sessionKey(headers);

const sessionKey: CredentialReader = ({ cookie }) => {
  const session = cookie?.includes(sessionCookie) === true ? readCookies(cookie).get(sessionCookie) : undefined;
  return session === undefined ? undefined : secretKey(`${sessionCookie}=${session}`);
};

function signed(match: RegExpExecArray | null): CredentialKey | undefined {
  return match === null ? undefined : { key: `signature ${match[1]!.toLowerCase()}`, isPublic: true };
}
