import { randomInt } from 'node:crypto';

/** Without vowels and look-alikes, so that no word comes of it. Source: k8s.io/apimachinery/pkg/util/rand. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const randomLength = 5;

/** The prefix, cut so that the whole has at most `maxLength` characters, and 5 random ones. */
export function generatedName(prefix: string, maxLength = 63): string {
  const random = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `${prefix.slice(0, maxLength - randomLength)}${random}`;
}
