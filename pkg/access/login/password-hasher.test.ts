import { hashSync } from '@node-rs/argon2';
import { describe, expect, test } from '@jest/globals';
import { PasswordHasher } from './password-hasher.ts';
import { TooManyPasswordsError } from './hashing-queue.ts';

/** The least work that the algorithm permits. */
const cheap = { memoryKiB: 8, passes: 1, lanes: 1 };
const hasher = new PasswordHasher(cheap);

describe('a password', () => {
  test('is hashed with the parameters of OWASP and its own salt, and verified', async () => {
    const real = new PasswordHasher();
    const stored = await real.hash('correct horse');
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(stored).not.toBe(await real.hash('correct horse'));
    expect(await real.verify(stored, 'correct horse')).toEqual({ isCorrect: true });
    expect(await real.verify(stored, 'correct horsE')).toEqual({ isCorrect: false });
  });

  const cases: { reason: string; set: string; typed: string; ok: boolean }[] = [
    { reason: 'composed and decomposed letters are the same', set: 'schön-é', typed: 'scho\u0308n-e\u0301', ok: true },
    { reason: 'upper and lower case are not', set: 'Secret-1', typed: 'secret-1', ok: false },
    { reason: 'U+0000 does not end the password', set: 'ab\0cd', typed: 'ab\0ce', ok: false },
    {
      reason: 'all 256 characters of two units count',
      set: '🦀'.repeat(256),
      typed: `${'🦀'.repeat(255)}x`,
      ok: false,
    },
    { reason: 'the same password', set: '🦀'.repeat(256), typed: '🦀'.repeat(256), ok: true },
  ];
  test.each(cases)('$reason', async ({ set, typed, ok }) => {
    expect(await hasher.verify(await hasher.hash(set), typed)).toEqual({ isCorrect: ok });
  });

  test('does not match without a hash, with a broken one, or beyond the maximum length', async () => {
    const long = 'x'.repeat(1025);
    const ofLong = hashSync(long, { memoryCost: 8, timeCost: 1 });
    for (const stored of [
      undefined,
      '',
      'nonsense',
      '$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ',
      '$2b$10$abcdefghijklmnopqrstuv',
      ofLong,
    ]) {
      expect(await hasher.verify(stored, stored === ofLong ? long : '')).toEqual({ isCorrect: false });
    }
  });

  const outdated: { reason: string; options: Parameters<typeof hashSync>[1]; rehash: boolean }[] = [
    { reason: 'with the same parameters', options: { memoryCost: 64, timeCost: 2, parallelism: 2 }, rehash: false },
    { reason: 'with stronger parameters', options: { memoryCost: 128, timeCost: 3, parallelism: 3 }, rehash: false },
    { reason: 'with less memory', options: { memoryCost: 63, timeCost: 3, parallelism: 2 }, rehash: true },
    { reason: 'with fewer passes', options: { memoryCost: 64, timeCost: 1, parallelism: 2 }, rehash: true },
    { reason: 'with fewer lanes', options: { memoryCost: 64, timeCost: 2, parallelism: 1 }, rehash: true },
    { reason: 'by Argon2i', options: { memoryCost: 64, timeCost: 2, parallelism: 2, algorithm: 1 }, rehash: true },
  ];
  test.each(outdated)('that was hashed $reason: hashed anew, $rehash', async ({ options, rehash }) => {
    const stored = hashSync('secret', options);
    const wanting = new PasswordHasher({ memoryKiB: 64, passes: 2, lanes: 2 });
    expect(await wanting.verify(stored, 'secret')).toEqual(
      rehash ? { isCorrect: true, needsRehash: true } : { isCorrect: true },
    );
    expect(await wanting.verify(stored, 'wrong')).toEqual({ isCorrect: false });
  });
});

describe('the computation', () => {
  test('takes as long without a hash as with one', async () => {
    const real = new PasswordHasher();
    const stored = await real.hash('secret');
    const times: [number[], number[]] = [[], []];
    for (let i = 0; i < 12; i += 1) {
      for (const [side, hash] of [stored, undefined].entries()) {
        const began = process.hrtime.bigint();
        await real.verify(hash, 'wrong');
        times[side]!.push(Number(process.hrtime.bigint() - began));
      }
    }
    // Compares the fastest runs with a wide bound, as other processes take time too: without the work it would be
    // thousands of times as fast.
    const [known, unknown] = times.map((each) => Math.min(...each)) as [number, number];
    expect(Math.max(known, unknown) / Math.min(known, unknown)).toBeLessThan(100);
  });

  test('does not block the event loop', async () => {
    const real = new PasswordHasher({ maxRunning: 2 });
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await Promise.all(Array.from({ length: 6 }, () => real.hash('secret')));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(6);
  });

  test('is refused at once beyond the running and waiting ones, and what was accepted is done', async () => {
    const narrow = new PasswordHasher({ ...cheap, maxRunning: 1, maxWaiting: 2 });
    const asked = await Promise.allSettled(Array.from({ length: 5 }, () => narrow.hash('secret')));
    expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected']);
    expect(asked[3]).toMatchObject({ reason: expect.any(TooManyPasswordsError) });
    expect((asked[3] as PromiseRejectedResult).reason).toMatchObject({ status: 429, headers: { 'Retry-After': '1' } });
    expect(await narrow.verify(await narrow.hash('again'), 'again')).toEqual({ isCorrect: true });
  });
});
