import { expect, test } from '@jest/globals';
import { ManualClock } from '#pkg/runtime/index';
import type { PluginHealth } from '../control-message.ts';
import { HealthReporter } from './health-reporter.ts';

function begin(): {
  clock: ManualClock;
  reports: [number, PluginHealth][];
  reporter: HealthReporter;
  become: (health: PluginHealth) => void;
} {
  const clock = new ManualClock();
  const reports: [number, PluginHealth][] = [];
  let present: PluginHealth = {};
  const reporter = new HealthReporter({
    clock,
    read: () => present,
    report: (health) => reports.push([clock.now(), health]),
  });
  const become = (health: PluginHealth): void => {
    present = health;
    reporter.note();
  };
  return { clock, reports, reporter, become };
}

test('a new failure is reported at once, a recovery soon, and one that has passed in between not at all', () => {
  const { clock, reports, become } = begin();
  become({ reconciles: 'a' });
  clock.advance(0);
  become({});
  clock.advance(1000);
  become({ reconciles: 'a' });
  clock.advance(100_000);
  become({ controllers: 'c' });
  clock.advance(0);
  become({});
  clock.advance(4999);
  expect(reports).toEqual([
    [0, { reconciles: 'a' }],
    [101_000, { controllers: 'c' }],
  ]);
  clock.advance(1);
  expect(reports.at(-1)).toEqual([106_000, {}]);
  expect(clock.pending).toBe(0);
});

test('a change of the text is reported once a minute, and does not delay a recovery', () => {
  const { clock, reports, reporter, become } = begin();
  for (let i = 0; i < 100; i += 1) {
    become({ reconciles: String(i) });
    clock.advance(1000);
  }
  expect(reports.map(([at]) => at)).toEqual([0, 60_000]);
  become({});
  clock.advance(5000);
  expect(reports.at(-1)![1]).toEqual({});
  become({ reconciles: 'again' });
  reporter.flush();
  reporter.flush();
  expect([reports.at(-1), reports.length, clock.pending]).toEqual([[105_000, { reconciles: 'again' }], 4, 0]);
});
