import { afterEach, describe, expect, test } from '@jest/globals';
import { fenceHeader, newConflict } from '#pkg/apimachinery/index';
import { waitMs, pollUntil } from '../../testenv/faults/poll-until.ts';
import type { Log } from '../log.ts';
import { TerminalError, type ReconcileRequest, type ReconcileResult } from '../reconcile/reconciler.ts';
import { ChannelSource } from '../source/source.ts';
import { ItemBackoff } from '../workqueue/rate-limiter.ts';
import { Controller, type ControllerOptions, type ReconcileOutcome } from './controller.ts';
import { ReconcileFailures } from './reconcile-failures.ts';

const a: ReconcileRequest = { namespace: '', name: 'a' };
const b: ReconcileRequest = { namespace: 'team', name: 'b' };

interface Attempt {
  request: ReconcileRequest;
  signal: AbortSignal;
  end(result: ReconcileResult): void;
  fail(error: Error): void;
}

/** A controller whose reconciles end when the test ends them. */
class Stage {
  readonly source = new ChannelSource();
  readonly attempts: Attempt[] = [];
  readonly outcomes: ReconcileOutcome[] = [];
  readonly logged: string[] = [];
  readonly controller: Controller;

  constructor(options: Partial<ControllerOptions> = {}) {
    const note = (_details: object, message: string): void => void this.logged.push(message);
    const log: Log = { debug: note, info: note, warn: note, error: note };
    this.controller = new Controller({
      name: 'test',
      sources: [this.source],
      log,
      limiter: new ItemBackoff({ baseMs: 1, maxMs: 1, jitter: 0 }),
      reconciler: {
        reconcile: (request, signal) =>
          new Promise((end, fail) => {
            this.attempts.push({ request, signal, end, fail });
          }),
      },
      observer: {
        depth() {},
        added() {},
        taken() {},
        done() {},
        retried() {},
        reconciled: (outcome) => void this.outcomes.push(outcome),
      },
      ...options,
    });
  }
}

let stage: Stage;
afterEach(async () => {
  for (const attempt of stage.attempts) attempt.end(undefined);
  await stage.controller.stop();
});

async function start(options: Partial<ControllerOptions> = {}): Promise<Stage> {
  stage = new Stage(options);
  await stage.controller.start();
  return stage;
}

describe('a controller', () => {
  test('lets its reconciler look at what its sources ask for', async () => {
    const { source, attempts, outcomes } = await start();
    source.push(b);
    await pollUntil(() => attempts.length === 1);
    expect(attempts[0]!.request).toEqual(b);
    attempts[0]!.end(undefined);
    await pollUntil(() => outcomes.length === 1);
    expect(outcomes).toEqual(['success']);
  });

  test('works on so many at once, and never on one object twice', async () => {
    const { source, attempts } = await start({ concurrency: 2 });
    for (const request of [a, b, a, b]) source.push(request);
    await pollUntil(() => attempts.length === 2);
    source.push(a);
    expect(attempts.map(({ request }) => request.name)).toEqual(['a', 'b']);
    attempts[0]!.end(undefined);
    await pollUntil(() => attempts.length === 3);
    expect(attempts[2]!.request).toEqual(a);
  });

  test('tries again what failed, however it failed', async () => {
    const { source, attempts, outcomes, logged } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.fail(new Error('not yet'));
    await pollUntil(() => attempts.length === 2);
    attempts[1]!.end(undefined);
    await pollUntil(() => outcomes.length === 2);
    expect(outcomes).toEqual(['error', 'success']);
    expect(logged).toEqual(['the reconcile failed, and is tried again']);
  });

  test('lets a terminal failure rest', async () => {
    const { source, attempts, outcomes } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.fail(new TerminalError('never'));
    await pollUntil(() => outcomes.length === 1);
    expect(outcomes).toEqual(['terminal']);
    source.push(b);
    await pollUntil(() => attempts.length === 2);
    expect(attempts[1]!.request).toEqual(b);
  });

  test('counts failures from the beginning again after a terminal one', async () => {
    const limiter = new ItemBackoff({ baseMs: 1, maxMs: 1, jitter: 0 });
    const { source, attempts, outcomes } = await start({ limiter });
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.fail(new Error('not yet'));
    await pollUntil(() => attempts.length === 2);
    attempts[1]!.fail(new TerminalError('never'));
    await pollUntil(() => outcomes.length === 2);
    expect(limiter.failures('/a')).toBe(0);
  });

  test('does not try again what was refused as its lease is lost: the turn is ending', async () => {
    const { source, attempts, outcomes, logged } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.fail(
      newConflict({ group: '', resource: 'posts' }, 'a', "the lease is another's", [
        { reason: 'FieldValueInvalid', message: '', field: fenceHeader },
      ]),
    );
    await pollUntil(() => outcomes.length === 1);
    // A retry would be queued before this request.
    source.push(b);
    await pollUntil(() => attempts.length === 2);
    expect(attempts[1]!.request).toEqual(b);
    expect(logged).toEqual(["the reconcile was refused, as its lease is another's by now"]);
  });

  test.each([0, 1])('looks again when asked to, after %i ms', async (requeueAfterMs) => {
    const { source, attempts, outcomes } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.end({ requeueAfterMs });
    await pollUntil(() => attempts.length === 2);
    expect(outcomes).toEqual(['requeued']);
  });

  test('counts failures from the beginning again when a reconcile asks for another look', async () => {
    const limiter = new ItemBackoff({ baseMs: 1, maxMs: 1, jitter: 0 });
    const { source, attempts } = await start({ limiter });
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.fail(new Error('not yet'));
    await pollUntil(() => attempts.length === 2);
    expect(limiter.failures('/a')).toBe(1);
    attempts[1]!.end({ requeueAfterMs: 1 });
    await pollUntil(() => attempts.length === 3);
    expect(limiter.failures('/a')).toBe(0);
  });

  test.each([
    ['no number', { requeueAfterMs: NaN }],
    ['no time', {}],
    ['a text', 'soon'],
  ])('takes %s for a failure: it is no answer', async (_, answer) => {
    const { source, attempts, outcomes } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.end(answer as ReconcileResult);
    await pollUntil(() => attempts.length === 2);
    expect(outcomes).toEqual(['error']);
  });

  test('takes null for nothing', async () => {
    const { source, attempts, outcomes } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.end(null as unknown as ReconcileResult);
    await pollUntil(() => outcomes.length === 1);
    expect(outcomes).toEqual(['success']);
  });

  test('tells a reconcile that takes too long, goes on with others, and keeps its object until it ends', async () => {
    const { source, attempts, outcomes } = await start({ timeoutMs: 5 });
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    source.push(a);
    source.push(b);
    await pollUntil(() => attempts.length === 2);
    expect(attempts[0]!.signal.aborted).toBe(true);
    expect(attempts[1]!.request).toEqual(b);
    attempts[1]!.end(undefined);
    attempts[0]!.fail(attempts[0]!.signal.reason as Error);
    await pollUntil(() => attempts.length === 3);
    expect(outcomes).toEqual(expect.arrayContaining(['timeout', 'success']));
    expect(attempts[2]!.request).toEqual(a);
  });

  test('tells of a reconcile that does not heed its signal while it goes on, and no longer when it went well', async () => {
    const failures = new ReconcileFailures();
    const { source, attempts, outcomes, logged } = await start({
      timeoutMs: 5,
      failures,
      limiter: new ItemBackoff({ baseMs: 600_000, maxMs: 600_000, jitter: 0 }),
    });
    source.push(a);
    await pollUntil(() => logged.length > 0, waitMs(), 'a line that says that the reconcile has not ended');
    expect(logged).toEqual(['the reconcile took too long and has not ended']);
    const error = new Error('the reconcile took longer than 5 ms');
    expect(failures.summary).toEqual({
      objects: 1,
      since: expect.any(Number),
      last: { controller: 'test', request: '/a', attempt: 1, error, isLasting: true },
    });
    attempts[0]!.fail(new Error('at last'));
    await pollUntil(() => outcomes.length === 1, waitMs(), 'the first outcome');
    expect([outcomes, failures.summary]).toEqual([
      ['timeout'],
      {
        objects: 1,
        since: expect.any(Number),
        last: expect.objectContaining({ attempt: 1, error: new Error('at last') }),
      },
    ]);
    source.push(a);
    await pollUntil(() => attempts.length === 2, waitMs(), 'the second attempt');
    attempts[1]!.end(undefined);
    await pollUntil(() => outcomes.length === 2, waitMs(), 'the second outcome');
    expect(failures.summary).toBeUndefined();
  });

  test('tells once of a reconcile that heeds its signal: what it threw', async () => {
    const failures = new ReconcileFailures();
    const { source, attempts, outcomes, logged } = await start({
      timeoutMs: 5,
      failures,
      limiter: new ItemBackoff({ baseMs: 600_000, maxMs: 600_000, jitter: 0 }),
      reconciler: {
        reconcile: (_request, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      },
    });
    source.push(a);
    // Its only worker takes this request after the first one timed out.
    source.push(b);
    await pollUntil(() => outcomes.length === 2, waitMs(), 'both outcomes');
    expect([outcomes, logged, attempts]).toEqual([
      ['timeout', 'timeout'],
      Array.from({ length: 2 }, () => 'the reconcile failed, and is tried again'),
      [],
    ]);
  });

  test('waits for its caches first; a cache that stays behind is a failure', async () => {
    let isBehind = true;
    const { source, attempts, outcomes } = await start({
      catchUp: () => (isBehind ? Promise.reject(new Error('behind')) : Promise.resolve()),
    });
    source.push(a);
    await pollUntil(() => outcomes.length > 0);
    expect(attempts).toEqual([]);
    isBehind = false;
    await pollUntil(() => attempts.length === 1);
    expect(outcomes).toContain('error');
  });

  test('stopped: tells what is under way, waits for it, and takes nothing more', async () => {
    const { source, attempts, controller, logged } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    let isStopped = false;
    const stopping = controller.stop().then(() => (isStopped = true));
    expect(attempts[0]!.signal.aborted).toBe(true);
    source.push(b);
    await new Promise(setImmediate);
    expect(isStopped).toBe(false);
    attempts[0]!.fail(new Error('stopping'));
    await stopping;
    expect(attempts.length).toBe(1);
    expect(logged).toEqual([]);
  });
});
