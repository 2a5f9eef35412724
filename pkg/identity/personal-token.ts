import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const form = /^pat_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

/**
 * A new personal token: `pat_`, 30 random base62 characters, and their CRC-32 as 6 base62 digits, so that typos and
 * secret scanners need no database.
 */
export function newPersonalToken(): string {
  const random = Array.from({ length: 30 }, () => alphabet[randomInt(62)]).join('');
  return `pat_${random}${checksum(random)}`;
}

/** Whether the text has the form and checksum of a personal token; it may no longer be valid. */
export function isPersonalToken(text: string): boolean {
  const match = form.exec(text);
  return match !== null && checksum(match[1]!) === match[2];
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < 6; i += 1) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
