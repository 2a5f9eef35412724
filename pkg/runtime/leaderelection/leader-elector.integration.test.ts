import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '#pkg/apimachinery/index';
import { FaultyClient, startTestEnv, type TestEnv } from '../../testenv/index.ts';
import type { Log } from '../log.ts';
import { LeaderElector, type Leadership, type LeaderElectorOptions } from './leader-elector.ts';
import { leaseType } from './lease.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** Leases are released, and expire quickly only if a test says so: a slow machine must not end a term. */
const quick = { namespace: 'default', durationMs: 60_000, deadlineMs: 50_000, retryMs: 30 };
const short = { durationMs: 1000, deadlineMs: 500 };

let env: TestEnv;
let client: Client;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
});
afterAll(() => env.stop());

/** A candidate that leads until the test stops it. */
class Candidate {
  readonly stop = new AbortController();
  leading: Leadership | undefined;
  readonly began: Promise<Leadership>;
  readonly ended: Promise<void>;

  constructor(options: Partial<LeaderElectorOptions> & { identity: string; lease: string }) {
    const elector = new LeaderElector({ client, log: silent, ...quick, ...options });
    let begin: (leadership: Leadership) => void = () => {};
    this.began = new Promise((resolve) => (begin = resolve));
    this.ended = elector.run(async (leadership) => {
      this.leading = leadership;
      begin(leadership);
      await new Promise<void>((resolve) => {
        if (leadership.signal.aborted) resolve();
        leadership.signal.addEventListener('abort', () => resolve());
      });
      this.leading = undefined;
    }, this.stop.signal);
  }
}

describe('a lease', () => {
  test('has one leader at a time, and is passed on at once by a leader that stops', async () => {
    const first = new Candidate({ identity: 'first', lease: 'handed-on' });
    expect((await first.began).fence).toEqual({ namespace: 'default', lease: 'handed-on', transitions: 0 });
    const second = new Candidate({ identity: 'second', lease: 'handed-on' });
    await client.get(leaseType, { namespace: 'default', name: 'handed-on' });
    expect(second.leading).toBeUndefined();
    first.stop.abort();
    await first.ended;
    expect((await second.began).fence.transitions).toBe(1);
    second.stop.abort();
    await second.ended;
    expect((await client.get(leaseType, { namespace: 'default', name: 'handed-on' })).spec!.holderIdentity).toBe('');
  });

  test('of a silent leader is taken when it has expired, and not before', async () => {
    const faulty = new FaultyClient({ client, seed: 1, rates: {} });
    const first = new Candidate({ identity: 'first', lease: 'silent', client: faulty, ...short });
    await first.began;
    const cut = performance.now();
    faulty.setRates({ unavailable: 1 });
    const second = new Candidate({ identity: 'second', lease: 'silent', ...short });
    const order: string[] = [];
    await Promise.all([
      first.ended.then(() => order.push('the first steps down')),
      second.began.then(() => order.push('the second begins')),
    ]);
    expect(order).toEqual(['the first steps down', 'the second begins']);
    expect((await second.began).fence.transitions).toBe(1);
    expect(performance.now() - cut).toBeGreaterThanOrEqual(900);
    second.stop.abort();
    await second.ended;
  });

  test('taken by another process ends the term', async () => {
    const first = new Candidate({ identity: 'first', lease: 'taken' });
    await first.began;
    const key = { namespace: 'default', name: 'taken' };
    await client.patch(leaseType, key, {
      type: 'merge',
      patch: { spec: { holderIdentity: 'thief', leaseTransitions: 7 } },
    });
    await first.ended;
    expect((await client.get(leaseType, key)).spec!.holderIdentity).toBe('thief');
  });

  test('that was deleted continues with the next number: the fence of the previous term stays lost', async () => {
    const elector = new LeaderElector({ client, log: silent, ...quick, identity: 'first', lease: 'deleted' });
    const turns: number[] = [];
    const lead = async ({ fence }: Leadership): Promise<void> => {
      turns.push(fence.transitions);
      await client.delete(leaseType, { namespace: 'default', name: 'deleted' });
    };
    for (let turn = 0; turn < 3; turn += 1) await elector.run(lead, new AbortController().signal);
    expect(turns).toEqual([0, 1, 2]);
  });

  test('is kept despite edits of others and lost responses', async () => {
    const faulty = new FaultyClient({ client, seed: 3, rates: { lostAnswer: 0.5, unavailable: 0.2 } });
    const first = new Candidate({ identity: 'first', lease: 'robust', client: faulty });
    const { signal } = await first.began;
    const key = { namespace: 'default', name: 'robust' };
    let renewals = 0;
    let last = '';
    while (renewals < 8) {
      await client.patch(leaseType, key, {
        type: 'merge',
        patch: { metadata: { annotations: { note: String(renewals) } } },
      });
      const { spec } = await client.get(leaseType, key);
      if (spec!.renewTime !== last) renewals += 1;
      last = spec!.renewTime!;
      expect(signal.aborted).toBe(false);
    }
    faulty.heal();
    first.stop.abort();
    await first.ended;
  });

  test('has exactly one leader of many concurrent candidates, and each term has its own number', async () => {
    const candidates = Array.from(
      { length: 6 },
      (_, i) => new Candidate({ identity: `candidate-${i}`, lease: 'many' }),
    );
    const turns: number[] = [];
    for (let i = 0; i < candidates.length; i += 1) {
      const waiting = candidates.filter(({ stop }) => !stop.signal.aborted);
      const leader = await Promise.race(waiting.map(async (candidate) => (await candidate.began, candidate)));
      expect(waiting.filter(({ leading }) => leading !== undefined)).toEqual([leader]);
      turns.push(leader.leading!.fence.transitions);
      leader.stop.abort();
      await leader.ended;
    }
    expect(turns).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('ends its term with an error of the leader, which is rethrown', async () => {
    const elector = new LeaderElector({ client, log: silent, ...quick, identity: 'first', lease: 'thrown' });
    await expect(elector.run(() => Promise.reject(new Error('mine')), new AbortController().signal)).rejects.toThrow(
      'mine',
    );
    expect((await client.get(leaseType, { namespace: 'default', name: 'thrown' })).spec!.holderIdentity).toBe('');
  });
});
