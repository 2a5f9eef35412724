import { ofKind, titleOf, type Release } from './release.ts';

/** The content of Secrets, and planted secrets, appear nowhere else: no ConfigMap, argument, variable or annotation. */
export function secretsStaySecret(release: Release, planted: readonly string[]): string[] {
  const made = ofKind(release, 'Secret').flatMap(({ data }) => Object.values(data as Record<string, string>));
  const values = [...planted, ...made, ...made.map((value) => Buffer.from(value, 'base64').toString())];
  return release.documents
    .filter(({ kind }) => kind !== 'Secret')
    .flatMap((document) => {
      const text = JSON.stringify(document);
      return values.some((value) => text.includes(value)) ? [`${titleOf(document)} shows a secret`] : [];
    });
}
