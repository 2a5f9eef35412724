export const number = new Intl.NumberFormat('en');

export function plural(count: number, one: string, other: string): string {
  return `${number.format(count)} ${count === 1 ? one : other}`;
}
