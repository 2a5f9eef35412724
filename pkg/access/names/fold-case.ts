/**
 * In UTF-16 units; no stored text that is compared is longer. Normalising takes time that grows with the square of a
 * run of combining marks.
 */
const maxLength = 1024;

/**
 * Folds a text for comparison and search, in every script, independent of the database's locale. Letters that differ in
 * case only become the same, whatever their capitals (ß and SS, σ and ς, İ and i). Idempotent. A text over 1024 units
 * is returned unchanged, as no name is that long. Source: Unicode, "caseless matching" (D146), as far as JavaScript
 * supports it.
 */
export function fold(text: string): string {
  if (text.length > maxLength) return text;
  // ẞ needs both conversions, as its small letter has two capitals.
  const lower = text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
  // Removes the second dot that İ leaves above an i.
  const undotted = lower.normalize('NFD').replaceAll(/i\p{M}+/gu, (letter) => letter.replaceAll('\u0307', ''));
  return undotted.normalize('NFKC');
}
