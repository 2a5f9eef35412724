import { containersOf, ofKind, podsOf, titleOf, type Release } from './release.ts';

/**
 * The content of Secrets, and planted secrets, appear nowhere else: no ConfigMap, argument, variable or annotation. The
 * program reads its own from files.
 */
export function secretsStaySecret(release: Release, planted: readonly string[]): string[] {
  const made = ofKind(release, 'Secret').flatMap(({ data }) => Object.values(data as Record<string, string>));
  const values = [...planted, ...made, ...made.map((value) => Buffer.from(value, 'base64').toString())];
  const shown = release.documents
    .filter(({ kind }) => kind !== 'Secret')
    .filter((document) => {
      const text = JSON.stringify(document);
      return values.some((value) => text.includes(value));
    });
  const variables = podsOf(release).flatMap((pods) =>
    containersOf(pods)
      .flatMap(({ env = [] }) => env)
      .filter(({ name, valueFrom }) => name.startsWith('SVC_') && valueFrom?.secretKeyRef !== undefined)
      .map(({ name }) => `${pods.owner} has a secret in its environment: ${name}`),
  );
  return [...shown.map((document) => `${titleOf(document)} shows a secret`), ...variables];
}
