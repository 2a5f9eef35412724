import { secretKey, type CredentialKey, type CredentialReader } from '#pkg/http/index';
import { sessionCookie } from '../sessions/session-cookies.ts';
import { readCookies } from './cookies.ts';

const keyIdOfDraft = /^signature\s[^]*?\bkeyid\s*=\s*"?([0-9a-f-]{36})/i;
const keyIdOfMessage = /;\s*keyid="([0-9a-f-]{36})"/i;

/**
 * What tells a credential from others: the header Authorization, the session's cookie where there is no such header, and of what is signed, which is
 * other bytes each time, the name of the key: that anybody may send.
 */
export const credentialKeyOf: CredentialReader = (headers) => {
  const { authorization, cookie } = headers;
  if (authorization !== undefined) return signed(keyIdOfDraft.exec(authorization)) ?? secretKey(authorization);
  const input = headers['signature-input'];
  if (input !== undefined) return signed(keyIdOfMessage.exec(String(input))) ?? secretKey(String(input));
  const session = cookie?.includes(sessionCookie) === true ? readCookies(cookie).get(sessionCookie) : undefined;
  return session === undefined ? undefined : secretKey(`${sessionCookie}=${session}`);
};

function signed(match: RegExpExecArray | null): CredentialKey | undefined {
  return match === null ? undefined : { key: `signature ${match[1]!.toLowerCase()}`, isPublic: true };
}
