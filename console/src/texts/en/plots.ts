import { number, plural } from './numbers.ts';

/** A width may be small. */
const exact = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 });
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

export const plots = {
  open: 'Plot',
  title: 'Plot',
  titleBy: (index: string) => `Objects by ${index}`,
  by: 'Objects by',
  age: 'age (when they were created)',
  value: 'Value',
  objects: 'Objects',
  share: 'Share',
  percent: (value: number) => percent.format(value),
  missing: 'not set',
  empty: 'empty text',
  others: (count: number) => plural(count, 'other value', 'other values'),
  range: (from: number, to: number) =>
    from === to ? exact.format(from) : `${exact.format(from)} to ${exact.format(to)}`,
  tooMany: (limit: number) =>
    `There are more than ${number.format(limit)} different values: too many to count them one by one. Filter the list, or choose another index.`,
};
