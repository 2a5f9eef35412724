import { createRequire } from 'node:module';

/**
 * From @zxcvbn-ts/language-common (MIT, from the lists of zxcvbn); importing its index would load unused dictionaries.
 */
const listModule = '@zxcvbn-ts/language-common/dist/passwords.json.js';

let list: ReadonlySet<string> | undefined;

/**
 * Is it among the 18 000 most common passwords? Pass it folded, as the list is in lower case. The first call reads the
 * list, about 10 ms.
 */
export function isCommonPassword(folded: string): boolean {
  list ??= new Set((createRequire(import.meta.url)(listModule) as string[]).filter(({ length }) => length >= 8));
  return list.has(folded);
}
