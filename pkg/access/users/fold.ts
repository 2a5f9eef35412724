/** By which names are the same, and texts contain each other, in every script: the database's locale has no say in it. */
export function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
