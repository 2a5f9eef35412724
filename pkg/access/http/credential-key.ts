import { authorizationKey, secretKey, type CredentialKey, type CredentialReader } from '#pkg/http/index';
import { readCookies, sessionCookie } from './cookies.ts';

const keyIdOfDraft = /^signature\s[^]*?\bkeyid\s*=\s*"?([0-9a-f-]{36})/i;
const keyIdOfMessage = /;\s*keyid="([0-9a-f-]{36})"/i;

/**
 * What tells a credential of access management from others: the header Authorization, the session's cookie where there
 * is no such header, and of what is signed, which is other bytes each time, the name of the key: that anybody may send.
 */
export const credentialKeyOf: CredentialReader = (headers) => {
  const { authorization } = headers;
  if (authorization !== undefined) return signed(keyIdOfDraft.exec(authorization)) ?? authorizationKey(headers);
  const input = headers['signature-input'];
  if (input !== undefined) return signed(keyIdOfMessage.exec(String(input))) ?? secretKey(String(input));
  return sessionKey(headers);
};

/** The same for the content platform, which takes no signatures. */
export const platformCredentialKeyOf: CredentialReader = (headers) => authorizationKey(headers) ?? sessionKey(headers);

const sessionKey: CredentialReader = ({ cookie }) => {
  const session = cookie?.includes(sessionCookie) === true ? readCookies(cookie).get(sessionCookie) : undefined;
  return session === undefined ? undefined : secretKey(`${sessionCookie}=${session}`);
};

function signed(match: RegExpExecArray | null): CredentialKey | undefined {
  return match === null ? undefined : { key: `signature ${match[1]!.toLowerCase()}`, isPublic: true };
}
