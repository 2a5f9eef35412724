import { expect, test } from '@jest/globals';
import { ManualClock } from '#pkg/runtime/index';
import { ReloadBudget } from './reload-budget.ts';

test('frequent saves cause no wait, and a plugin that changes itself endlessly is restarted once a minute', () => {
  const budget = new ReloadBudget({ clock: new ManualClock() });
  for (let i = 0; i < 10; i += 1) {
    expect(budget.wait('a')).toBe(0);
    budget.count('a');
  }
  expect([budget.wait('a'), budget.wait('b')]).toEqual([60_000, 0]);
  budget.forget('a');
  expect(budget.wait('a')).toBe(0);
});
