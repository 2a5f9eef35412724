import { afterEach, expect, test } from '@jest/globals';
import { waitMs, pollUntil } from '../../testenv/faults/poll-until.ts';
import { Controller } from '../controller/controller.ts';
import type { Log } from '../log.ts';
import type { Source } from '../source/source.ts';
import { ItemBackoff } from '../workqueue/rate-limiter.ts';
import { ControllerRun, type ControllerRunOptions, type ControllerStatus } from './controller-run.ts';

let run: ControllerRun;
afterEach(() => run.stop());

/** A run whose controller has these sources, one for each try; records its status changes and log. */
function begin(
  sources: readonly Source[],
  options: Partial<ControllerRunOptions> = {},
): { statuses: ControllerStatus[]; logged: string[] } {
  const [statuses, logged]: [ControllerStatus[], string[]] = [[], []];
  const note = (_details: object, message: string): void => void logged.push(message);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  let tries = 0;
  const build = (): Controller =>
    new Controller({
      name: 'test',
      sources: [sources[tries++]!],
      log,
      reconciler: { reconcile: async () => undefined },
    });
  run = new ControllerRun({
    name: 'test',
    build,
    log,
    onChange: () => statuses.push(run.status),
    backoff: new ItemBackoff({ baseMs: 1, maxMs: 1, jitter: 0 }),
    ...options,
  });
  void run.start();
  return { statuses, logged };
}

const sound: Source = { start: async () => true, stop: () => undefined };
const failed = (message: string): ControllerStatus => ({ name: 'test', state: 'failed', problem: new Error(message) });
const notStarted = 'could not start a controller; retrying';

test('a source that ends by itself is a failure, and is retried', async () => {
  const { statuses, logged } = begin([{ start: async () => false, stop: () => undefined }, sound]);
  await pollUntil(() => statuses.length === 2, waitMs(), 'a failure and a start');
  expect(statuses).toEqual([
    failed('a source ended before it had delivered the existing objects'),
    { name: 'test', state: 'running' },
  ]);
  expect(logged).toEqual([notStarted]);
});

test('a source that fails and does not stop is reported at once, and not waited for after a timeout', async () => {
  const stuck: Source = { start: () => Promise.reject(new Error('broken')), stop: () => new Promise(() => undefined) };
  const { statuses, logged } = begin([stuck, sound], { stopTimeoutMs: 5 });
  await pollUntil(() => statuses.length === 2, waitMs(), 'a failure and a start');
  expect(statuses).toEqual([failed('broken'), { name: 'test', state: 'running' }]);
  expect(logged).toEqual([
    notStarted,
    'a controller that failed to start did not stop in time; continuing without waiting for it',
  ]);
});

test('a source that ends when it is stopped is not a failure', async () => {
  const obedient: Source = {
    start: (_enqueue, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(false))),
    stop: () => undefined,
  };
  const { statuses, logged } = begin([obedient]);
  await run.stop();
  expect([statuses, logged, run.status]).toEqual([[], [], { name: 'test', state: 'starting' }]);
});
