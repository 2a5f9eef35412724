import { expect, test } from '@jest/globals';
import { Heartbeat, HeartbeatMonitor } from './heartbeat.ts';

test('silence adds up over the checks, and ends with a beat', () => {
  const pulse = new Heartbeat();
  const watch = new HeartbeatMonitor(new Heartbeat(pulse.buffer), 0);
  expect([200, 400].map((now) => watch.look(now))).toEqual([0, 0]);
  pulse.beat(1);
  expect([600, 800, 1000].map((now) => watch.look(now))).toEqual([0, 200, 400]);
  pulse.beat(12.3);
  expect(watch.look(1200)).toBe(0);
  expect(pulse.memoryMiB).toBe(13);
  expect(watch.look(1400)).toBe(200);
});

test('a pause of the whole process does not make a worker hung', () => {
  const pulse = new Heartbeat();
  const watch = new HeartbeatMonitor(pulse, 0);
  pulse.beat(1);
  expect(watch.look(200)).toBe(0);
  expect(watch.look(60_000)).toBe(400);
});
