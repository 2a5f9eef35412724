/** An option for `parseArgs`. */
export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' } as const;

/** Parses a whole number of at least `least`. */
export function wholeNumber(name: string, value: string, least = 0): number {
  const number = Number(value);
  if (!/^\d{1,12}$/.test(value) || number < least)
    throw new Error(`--${name} must be a whole number${least > 0 ? ` above ${least - 1}` : ''}, not ${value}`);
  return number;
}

/** Parses a number above 0. */
export function positiveNumber(name: string, value: string): number {
  const number = Number(value);
  if (!(number > 0)) throw new Error(`--${name} must be a positive number, not ${value}`);
  return number;
}

/** Checks that `value` is one of the known values, which `what` describes in the error. */
export function oneOf<Known extends string>(what: string, value: string, known: readonly Known[]): Known {
  const found = known.find((each) => each === value.trim());
  if (found === undefined) throw new Error(`there is no ${what} ${value}; there are ${known.join(', ')}`);
  return found;
}
