/**
 * Computed index keys: pure functions of an object, which every API server runs whenever one is written. This module
 * imports nothing.
 */

/**
 * Under which letter an alphabetical register has the post: its title's first, without accents; `#` for all that begins
 * otherwise.
 */
export function initial({ spec: { title } }: { spec: { title: string } }): string {
  const [first = ''] = title.trim().normalize('NFKD');
  const letter = first.toUpperCase();
  return /^\p{Lu}$/u.test(letter) ? letter : '#';
}
