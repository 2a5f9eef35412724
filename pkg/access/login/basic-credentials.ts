import { isUtf8 } from 'node:buffer';

export interface BasicCredentials {
  username: string;
  password: string;
}

/** Maximum length of the header: the longest name and password of a login, in characters of three bytes. */
const maxLength = 8192;
const form = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/** Parses `Authorization: Basic`, in UTF-8; undefined if malformed. Source: RFC 7617. */
export function readBasicCredentials(header: string): BasicCredentials | undefined {
  if (header.length > maxLength) return undefined;
  const encoded = form.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  // The first colon ends the name; neither name nor password may hold control characters.
  const colon = text.indexOf(':');
  return colon === -1 || /\p{Cc}/u.test(text)
    ? undefined
    : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
