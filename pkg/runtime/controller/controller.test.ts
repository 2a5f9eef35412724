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
  test('calls its reconciler for the requests of its sources', async () => {
    const { source, attempts, outcomes } = await start();
    source.push(b);
    await pollUntil(() => attempts.length === 1);
    expect(attempts[0]!.request).toEqual(b);
    attempts[0]!.end(undefined);
    await pollUntil(() => outcomes.length === 1);
    expect(outcomes).toEqual(['success']);
  });

  test('reconciles as many objects concurrently as configured, and never one object twice at a time', async () => {
    const { source, attempts } = await start({ concurrency: 2 });
    for (const request of [a, b, a, b]) source.push(request);
    await pollUntil(() => attempts.length === 2);
    source.push(a);
    expect(attempts.map(({ request }) => request.name)).toEqual(['a', 'b']);
    attempts[0]!.end(undefined);
    await pollUntil(() => attempts.length === 3);
    expect(attempts[2]!.request).toEqual(a);
  });

  test('retries a failed reconcile, for any kind of failure', async () => {
    const { source, attempts, outcomes, logged } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.fail(new Error('not yet'));
    await pollUntil(() => attempts.length === 2);
    attempts[1]!.end(undefined);
    await pollUntil(() => outcomes.length === 2);
    expect(outcomes).toEqual(['error', 'success']);
    expect(logged).toEqual(['the reconcile failed; retrying']);
  });

  test('does not retry a terminal failure', async () => {
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

  test('counts failures from zero again after a terminal one', async () => {
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

  test('does not retry a reconcile that was refused because the lease is lost: the term is ending', async () => {
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
    expect(logged).toEqual(['the API refused a write of a reconcile, because another process holds the lease now']);
  });

  test.each([0, 1])('reconciles again after %i ms when asked to', async (requeueAfterMs) => {
    const { source, attempts, outcomes } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.end({ requeueAfterMs });
    await pollUntil(() => attempts.length === 2);
    expect(outcomes).toEqual(['requeued']);
  });

  test('counts failures from zero again when a reconcile requests another one', async () => {
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
  ])('treats %s as a failure, because it is not a valid result', async (_, answer) => {
    const { source, attempts, outcomes } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.end(answer as ReconcileResult);
    await pollUntil(() => attempts.length === 2);
    expect(outcomes).toEqual(['error']);
  });

  test('treats null like undefined', async () => {
    const { source, attempts, outcomes } = await start();
    source.push(a);
    await pollUntil(() => attempts.length === 1);
    attempts[0]!.end(null as unknown as ReconcileResult);
    await pollUntil(() => outcomes.length === 1);
    expect(outcomes).toEqual(['success']);
  });

  test('reports a reconcile that exceeds its timeout, continues with others, and keeps its object until it ends', async () => {
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

  test('reports a reconcile that ignores its signal while it runs, and no longer after it succeeds', async () => {
    const failures = new ReconcileFailures();
    const { source, attempts, outcomes, logged } = await start({
      timeoutMs: 5,
      failures,
      limiter: new ItemBackoff({ baseMs: 600_000, maxMs: 600_000, jitter: 0 }),
    });
    source.push(a);
    await pollUntil(() => logged.length > 0, waitMs(), 'a line that says that the reconcile has not ended');
    expect(logged).toEqual(['a reconcile exceeded its timeout and is still running']);
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

  test('reports a reconcile that respects its signal once, with its error', async () => {
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
      Array.from({ length: 2 }, () => 'the reconcile failed; retrying'),
      [],
    ]);
  });

  test('waits for its caches first; a lagging cache is a failure', async () => {
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

  test('aborts the running reconciles at a stop, waits for them, and starts nothing more', async () => {
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
