import { expect, test } from '@jest/globals';
import { describeWithHelm, lintChart, renderChart } from './render-chart.ts';
import { optionsExist } from './rules/options-exist.ts';
import { podSecurity } from './rules/pod-security.ts';
import { portsExist } from './rules/ports-exist.ts';
import { namesFit, referencesExist } from './rules/references-exist.ts';
import { titleOf, type Release } from './rules/release.ts';
import { secretsStaySecret } from './rules/secrets-stay-secret.ts';
import { selectorsMatch } from './rules/selectors-match.ts';
import { hasSchemaOf, problemsOf } from './validate-document.ts';
import { planted, valuesSets, type ValuesSet } from './values-sets.ts';

/** All problems of the chart's output for these values. */
function problems(release: Release): string[] {
  return [
    ...release.documents
      .filter(hasSchemaOf)
      .flatMap((document) => problemsOf(document).map((problem) => `${titleOf(document)}: ${problem}`)),
    ...namesFit(release),
    ...podSecurity(release),
    ...secretsStaySecret(release, [planted]),
    ...optionsExist(release),
    ...selectorsMatch(release),
    ...referencesExist(release),
    ...portsExist(release),
  ];
}

describeWithHelm('the chart, with', () => {
  test.each(valuesSets)(
    '$name',
    async ({ values, existing = [], kubeVersions = ['1.29.0', '1.35.0'], release }: ValuesSet) => {
      const [, ...rendered] = await Promise.all([
        lintChart(values),
        ...kubeVersions.map((kubeVersion) =>
          renderChart(values, { kubeVersion, ...(release === undefined ? {} : { release }) }),
        ),
      ]);
      for (const documents of rendered) expect(problems({ documents, existing: new Set(existing) })).toEqual([]);
    },
  );
});
