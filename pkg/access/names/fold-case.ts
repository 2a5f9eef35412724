/**
 * The time that normalising takes grows with the square of a run of marks. Longer than anything that is kept to be
 * compared, in UTF-16 units.
 */
const longest = 1024;

/**
 * By which names are the same, and texts contain each other, in every script: the database's locale has no say in it.
 * Letters that differ in case only are the same, whatever capitals make of them (ß and SS, σ and ς, İ and i). Folding
 * again changes nothing. A text over 1024 units comes back as it is: nobody is called so. Source: Unicode, "caseless
 * matching" (D146), for what JavaScript has of it.
 */
export function fold(text: string): string {
  if (text.length > longest) return text;
  // ẞ has a small letter whose capitals are two: it takes both ways.
  const lower = text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
  // The dot that İ leaves above an i which has one.
  const undotted = lower.normalize('NFD').replaceAll(/i\p{M}+/gu, (letter) => letter.replaceAll('\u0307', ''));
  return undotted.normalize('NFKC');
}
