import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { alertsFile } from '../../harness/alerts/alert-rules.ts';
import { shortenRules } from './shorten-rules.ts';

test('all durations of a rule are shorter, and nothing else changes', () => {
  const rule = `
      - alert: SvcX
        expr: >-
          increase(x_total{reason="5m"}[10m]) > 600 and (y offset 9m) < 14 * 86400 and z[1d]
        for: 1h
        labels: { severity: warning }`;
  expect(shortenRules(rule, 60)).toBe(`
      - alert: SvcX
        expr: >-
          increase(x_total{reason="5m"}[10000ms]) > 600 and (y offset 9000ms) < 14 * 86400 and z[1440000ms]
        for: 60000ms
        labels: { severity: warning }`);
});

test("no duration of svc's rules is left as it was", async () => {
  const shortened = shortenRules(await readFile(alertsFile, 'utf8'), 60);
  expect(shortened.match(/for: \d+[smhd]$|\[\d+[smhd]\]|offset \d+[smhd]\b/gm)).toBeNull();
  expect(shortened.match(/for: \d+ms$/gm)?.length).toBeGreaterThan(20);
});
