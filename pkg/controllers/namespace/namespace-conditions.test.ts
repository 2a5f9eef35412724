import { expect, test } from '@jest/globals';
import { namespaceConditions } from './namespace-conditions.ts';

const nothing = {
  resources: new Map<string, number>(),
  finalizers: new Map<string, number>(),
  failures: new Map<string, string>(),
};
const summary = (conditions: ReturnType<typeof namespaceConditions>): string[] =>
  conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

test('an empty namespace has no remaining content', () => {
  expect(summary(namespaceConditions([], nothing, '2026-01-01T00:00:00Z'))).toEqual([
    'NamespaceDeletionContentFailure False ContentDeleted',
    'NamespaceContentRemaining False ContentRemoved',
    'NamespaceFinalizersRemaining False ContentHasNoFinalizers',
  ]);
});

test('remaining content is named in order, up to a limit', () => {
  const resources = new Map(
    Array.from({ length: 12 }, (_, i): [string, number] => [`r${String(11 - i).padStart(2, '0')}`, i]),
  );
  const [, remaining] = namespaceConditions([], { ...nothing, resources }, '2026-01-01T00:00:00Z');
  expect(remaining?.message).toMatch(
    /^Some resources are remaining: r00 has 11 resource instances, .*r09 has 2 resource instances, and 2 more$/,
  );
});

test('other conditions stay, and transition times change only with the status', () => {
  const other = {
    type: 'Other',
    status: 'True' as const,
    reason: 'Mine',
    message: '',
    lastTransitionTime: '2025-01-01T00:00:00Z',
  };
  const first = namespaceConditions([other], { ...nothing, resources: new Map([['a', 2]]) }, '2026-01-01T00:00:00Z');
  const second = namespaceConditions(first, { ...nothing, resources: new Map([['a', 1]]) }, '2026-01-02T00:00:00Z');
  const third = namespaceConditions(second, nothing, '2026-01-03T00:00:00Z');
  const timeOf = (conditions: typeof first): string | undefined =>
    conditions.find(({ type }) => type === 'NamespaceContentRemaining')?.lastTransitionTime;
  expect(first[0]).toEqual(other);
  expect([first, second, third].map(timeOf)).toEqual([
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z',
    '2026-01-03T00:00:00Z',
  ]);
});
