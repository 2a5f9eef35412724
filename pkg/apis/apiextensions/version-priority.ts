const kubernetesVersion = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/**
 * Orders version names by preference, for `toSorted`: stable before beta before alpha, newer before older
 * (`v10`, `v2`, `v1`, `v2beta1`, `v1beta2`, `v1alpha1`), then all other names by text.
 * Source: k8s.io/apimachinery/pkg/version.
 */
export function compareVersions(a: string, b: string): number {
  const left = rank(a);
  const right = rank(b);
  for (const [index, value] of left.entries()) {
    const difference = (right[index] ?? 0) - value;
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Stability, major, minor; greater values come first. */
function rank(name: string): [number, number, number] {
  const match = kubernetesVersion.exec(name);
  if (match === null) return [0, 0, 0];
  const stability = match[2] === undefined ? 3 : match[2] === 'beta' ? 2 : 1;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}
