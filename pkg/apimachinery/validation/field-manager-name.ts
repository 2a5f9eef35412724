import { invalid, tooLong } from '../status/field-error.ts';
import type { StatusCause } from '../status/status.ts';

const maxBytes = 128;
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;
const printableAscii = /^[\x20-\x7e]*$/;

/** What is wrong with the name of a field manager. Source: k8s.io/apimachinery ValidateFieldManager. */
export function fieldManagerCauses(name: string): StatusCause[] {
  if (Buffer.byteLength(name) > maxBytes) return [tooLong('fieldManager', maxBytes)];
  return unprintable.test(name) ? [invalid('fieldManager', name, 'should only contain printable characters')] : [];
}

/** A text as the name of a field manager: without characters that cannot be printed, cut at 128 bytes. */
export function fieldManagerName(text: string): string {
  if (text.length <= maxBytes && printableAscii.test(text)) return text;
  let name = '';
  for (const character of text) {
    if (unprintable.test(character)) continue;
    if (Buffer.byteLength(name + character) > maxBytes) break;
    name += character;
  }
  return name;
}
