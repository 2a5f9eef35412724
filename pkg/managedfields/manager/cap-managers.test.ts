import { describe, expect, test } from '@jest/globals';
import { runSync } from '#pkg/apimachinery/index';
import { type Managers, managerKey } from '../merge/managers.ts';
import { cappingManagers } from './cap-managers.ts';
import { writingManagedFields } from './managed-fields-list.ts';

function managersOf(
  rows: readonly (readonly [name: string, second: number, apiVersion?: string, isApplied?: boolean])[],
): Managers {
  const managers: Managers = new Map();
  for (const [name, second, apiVersion = 'v1', isApplied = false] of rows) {
    const time = `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`;
    const manager = { name, isApplied, apiVersion, subresource: '', time, set: { [`f:${name}`]: {} } };
    managers.set(managerKey(manager), manager);
  }
  return managers;
}

const names = (managers: Managers): string[] =>
  runSync(writingManagedFields(managers)).map(({ manager, apiVersion, time, fieldsV1 }) =>
    [manager, apiVersion, time?.slice(17, 19), ...Object.keys(fieldsV1)].join(' '),
  );

describe('the entries of updates', () => {
  test('ten stay as they are', () => {
    const rows = Array.from({ length: 10 }, (_, index) => [`u${index}`, index] as const);
    const managers = managersOf(rows);
    runSync(cappingManagers(managers));
    expect(managers).toEqual(managersOf(rows));
  });

  test('of twelve the oldest three are united, with the time of the latest of them', () => {
    const managers = managersOf(Array.from({ length: 12 }, (_, index) => [`u${index}`, index] as const));
    runSync(cappingManagers(managers));
    expect(names(managers).slice(0, 2)).toEqual(['ancient-changes v1 02 f:u0 f:u1 f:u2', 'u3 v1 03 f:u3']);
    expect(managers.size).toBe(10);
  });

  test('only entries of one version are united; the only one of a version keeps its name', () => {
    const rows = Array.from({ length: 11 }, (_, index) => [`u${index}`, index, index === 0 ? 'v0' : 'v1'] as const);
    const managers = managersOf(rows);
    runSync(cappingManagers(managers));
    expect(names(managers).slice(0, 3)).toEqual(['u0 v0 00 f:u0', 'ancient-changes v1 02 f:u1 f:u2', 'u3 v1 03 f:u3']);
  });

  test('those who apply do not count', () => {
    const managers = managersOf(Array.from({ length: 20 }, (_, index) => [`a${index}`, index, 'v1', true] as const));
    runSync(cappingManagers(managers));
    expect(managers.size).toBe(20);
  });

  test('one more joins the united ones, also if its name is sorted before theirs', () => {
    const rows = [
      ['aaa', 0],
      ['ancient-changes', 0],
      ...Array.from({ length: 9 }, (_, index) => [`u${index}`, index + 1]),
    ];
    const managers = managersOf(rows as [string, number][]);
    runSync(cappingManagers(managers));
    expect(names(managers)[0]).toBe('ancient-changes v1 00 f:aaa f:ancient-changes');
    expect(managers.size).toBe(10);
  });
});
