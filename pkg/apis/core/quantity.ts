const form = /^\+?(\d+(?:\.\d*)?|\.\d+)(?:(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d{1,3}))?$/;
const factors: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/**
 * The value of a quantity such as `10`, `1.5Gi` or `2e3`; undefined for other text and for negative ones. Source:
 * k8s.io/apimachinery/pkg/api/resource.
 */
export function parseQuantity(text: string): number | undefined {
  const [, digits, suffix, exponent] = form.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * (suffix === undefined ? 10 ** Number(exponent ?? 0) : factors[suffix]!);
}
