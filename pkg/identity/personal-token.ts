import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const form = /^pat_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;

/**
 * A new personal token: `pat_`, 30 random base62 characters, and their CRC-32 as 6 base62 digits,
 * so that a typo and a secret scanner need no database.
 */
export function newPersonalToken(): string {
  const random = Array.from({ length: 30 }, () => alphabet[randomInt(62)]).join('');
  return `pat_${random}${checksum(random)}`;
}

/** Is the text in the form of a personal token, its checksum right? Says nothing of whether it is still valid. */
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
