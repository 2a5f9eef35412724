import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { describeWithHelm, renderChart, type Values } from './render-chart.ts';
import { databaseUrl } from './values-sets.ts';

const page = readFileSync(new URL('../../../docs/chart.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => ({
  text: text!,
  values: parse(text!) as Values,
}));

describeWithHelm('docs/chart.md', () => {
  test('has examples', () => expect(examples.length).toBeGreaterThan(5));

  test.each(examples)('shows values that the chart accepts: $text', async ({ values }) => {
    expect(await renderChart({ database: { url: databaseUrl }, ...values })).not.toEqual([]);
  });
});
