import { hash } from 'node:crypto';
import { fold } from './fold-case.ts';
import { confusables } from './confusables-data.ts';

const radix = 36;

let prototypes: ReadonlyMap<string, string> | undefined;

/**
 * Texts with the same skeleton look alike, in any script; use it for comparison only. Source: Unicode, UTS #39, section
 * 4.
 */
export function skeleton(text: string): string {
  prototypes ??= parse();
  const decomposed = text.normalize('NFD').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  return Array.from(decomposed, (character) => prototypes!.get(character) ?? character)
    .join('')
    .normalize('NFD');
}

/**
 * Names that share one of these keys look alike, ignoring case: the skeletons of the name as written (a capital I is
 * like a small L), and as folded. Hashed, as a skeleton may be much longer than its name.
 */
export function skeletonKeys(name: string): Buffer[] {
  const skeletons = new Set([skeleton(name), skeleton(fold(name))].map(fold));
  return Array.from(skeletons, (text) => hash('sha256', text, 'buffer')).toSorted((one, other) => one.compare(other));
}

function parse(): ReadonlyMap<string, string> {
  const characterOf = (digits: string): string => String.fromCodePoint(Number.parseInt(digits, radix));
  const found = new Map<string, string>();
  for (const entry of confusables.trim().split(/\s+/)) {
    const [target = '', sources = ''] = entry.split('=');
    const prototype = target.split('+').map(characterOf).join('');
    for (const source of sources.split(',')) found.set(characterOf(source), prototype);
  }
  return found;
}
