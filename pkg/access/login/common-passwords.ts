import { createRequire } from 'node:module';

/**
 * Of @zxcvbn-ts/language-common (MIT, from the lists of zxcvbn): its whole index would load dictionaries that nobody
 * asks for.
 */
const LIST = '@zxcvbn-ts/language-common/dist/passwords.json.js';

let list: ReadonlySet<string> | undefined;

/**
 * Is it among some 18 000 passwords that everybody tries first? Folded, as the list is in lower case. The first call
 * reads the list, about 10 ms.
 */
export function isCommonPassword(folded: string): boolean {
  list ??= new Set((createRequire(import.meta.url)(LIST) as string[]).filter(({ length }) => length >= 8));
  return list.has(folded);
}
