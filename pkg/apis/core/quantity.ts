const form = /^\+?(\d+(?:\.\d*)?|\.\d+)(?:(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d{1,3}))?$/;
const exponents: Readonly<Record<string, number>> = { m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const powersOfTwo: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/**
 * The value of a quantity such as `10`, `1.5Gi` or `2e3`; undefined for other text, and for one that is negative or
 * too small for a number. Source:
 * k8s.io/apimachinery/pkg/api/resource.
 */
export function parseQuantity(text: string): number | undefined {
  const [, digits, suffix, exponent] = form.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const power = suffix === undefined ? undefined : powersOfTwo[suffix];
  // As one text, because 1.005 times 1000 is not 1005.
  const value =
    power === undefined ? Number(`${digits}e${exponent ?? exponents[suffix ?? ''] ?? 0}`) : Number(digits) * 2 ** power;
  return value === 0 && /[1-9]/.test(digits) ? undefined : value;
}
