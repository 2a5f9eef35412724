/** A key may have megabytes, and every cause below it repeats it. */
const maxShownKeyLength = 320;

/** `spec` + `title` = `spec.title`; keys longer than 320 characters are shortened. */
export function childPath(parent: string, key: string): string {
  const shown = key.length > maxShownKeyLength ? `${key.slice(0, maxShownKeyLength)}...` : key;
  return parent === '' ? shown : `${parent}.${shown}`;
}

export function itemPath(parent: string, index: number): string {
  return `${parent}[${index}]`;
}
