import { expect, test } from '@jest/globals';
import { readRules } from '../harness/alerts/alert-rules.ts';
import { incidents, sampleOfIncidents, untriedRules } from './incident-table.ts';
import { nameOf } from './incident.ts';
import { parseIncidentsOptions } from './incidents-options.ts';

const rules = (await readRules()).filter(({ alert }) => alert !== undefined);

test('each rule has its incident, or a reason why not', () => {
  const missing = rules.filter(({ alert, labels = {} }) => {
    const { cause, severity } = labels;
    const isTried = incidents.some(
      (each) =>
        each.alert === alert && each.cause === cause && (each.severity === undefined || each.severity === severity),
    );
    return isTried === Object.hasOwn(untriedRules, [alert, cause ?? severity].join(':'));
  });
  expect(missing.map(({ alert, labels }) => [alert, labels?.['cause'] ?? labels?.['severity']].join(':'))).toEqual([]);
});

test('each incident has its rule, and a name of its own', () => {
  const hasRule = incidents.map(({ alert, cause, severity }) =>
    rules.some(
      (rule) =>
        rule.alert === alert &&
        rule.labels?.['cause'] === cause &&
        (severity === undefined || rule.labels?.['severity'] === severity),
    ),
  );
  expect(incidents.filter((_incident, i) => !hasRule[i])).toEqual([]);
  const names = incidents.map(nameOf);
  expect(new Set(names).size).toBe(names.length);
  expect(sampleOfIncidents.filter((name) => !names.includes(name))).toEqual([]);
});

test('--only takes alerts and their causes, and no other names', () => {
  const named = (...args: string[]): string[] => parseIncidentsOptions(args).incidents.map(nameOf);
  expect(named('--only=SvcDown:gone,SvcDown')).toEqual(['SvcDown:gone', 'SvcDown:none', 'SvcDown:start']);
  expect(named('--sample')).toEqual(sampleOfIncidents);
  expect(named()).toEqual(incidents.map(nameOf));
  expect(() => named('--only=SvcUp')).toThrow('there is no incident SvcUp');
});
