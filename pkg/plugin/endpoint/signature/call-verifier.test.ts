import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { newServiceUnavailable } from '#pkg/apimachinery/index';
import { formatSignature, newClaims } from './call-claims.ts';
import { CallVerifier } from './call-verifier.ts';

const host = 'http://10.0.0.1:8090';
const target = 'POST /plugin-endpoints/blog/op';
const body = Buffer.from('{}\nbody');
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const reasons: unknown[] = [];
const lines: object[] = [];
const log = {
  debug: () => {},
  warn: () => {},
  error: () => {},
  info: (facts: object) => {
    lines.push(facts);
    reasons.push((facts as { reason: string }).reason);
  },
};

let now: number;
let keys: { find: (name: string) => Promise<KeyObject | undefined> };
let verifier: CallVerifier;
beforeEach(() => {
  now = 1_800_000_000_000;
  reasons.length = 0;
  lines.length = 0;
  keys = { find: (name) => Promise.resolve(name === 'svc-apiserver-a' ? publicKey : undefined) };
  verifier = new CallVerifier({ keys: { find: (name) => keys.find(name) }, host, now: () => now });
});

function header(facts: Partial<Parameters<typeof newClaims>[0]> = {}, key = privateKey): string {
  return formatSignature(newClaims({ key: 'svc-apiserver-a', host, target, body, time: now, ...facts }), key);
}

/** Why it is refused, or `undefined`. */
async function refusalOf(text: string | undefined, at = target): Promise<unknown> {
  try {
    verifier.verifyBody(await verifier.verify(text, at, log), body, log);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 401, reason: 'Unauthorized', message: 'Unauthorized', details: undefined });
    return reasons.at(-1);
  }
}

describe('a signed request', () => {
  test('is accepted once', async () => {
    const text = header();
    expect(await refusalOf(text)).toBeUndefined();
    expect(await refusalOf(text)).toBe('the signature was used before');
    expect(await refusalOf(header())).toBeUndefined();
  });

  test('is not accepted again within its validity', async () => {
    const start = now;
    const ahead = header({ time: now + 30_000 });
    expect(await refusalOf(ahead)).toBeUndefined();
    for (now = start; now <= start + 60_000; now += 5000) {
      expect(await refusalOf(header())).toBeUndefined();
      expect(await refusalOf(ahead)).toBe('the signature was used before');
    }
    expect(await refusalOf(ahead)).toBe('the time of the signature is too far from this clock');
  });

  test('is accepted within 30 s of this clock, before and after', async () => {
    now += 100_000;
    for (const [skew, isGood] of [
      [-30_000, true],
      [30_000, true],
      [-30_001, false],
      [30_001, false],
      [Number.MAX_SAFE_INTEGER - now, false],
    ] as const) {
      expect(await refusalOf(header({ time: now + skew }))).toBe(
        isGood ? undefined : 'the time of the signature is too far from this clock',
      );
    }
  });

  test('is refused if it was signed before this process started: the previous process may have accepted it', async () => {
    expect(await refusalOf(header({ time: now - 1 }))).toBe('it was signed before this process started');
  });

  test.each<[string, () => string | undefined]>([
    ['there is no signature', () => undefined],
    ['the signature is malformed', () => ''],
    ['the signature is malformed', () => `Bearer ${header()}`],
    ['no running API server has this key', () => header({ key: 'svc-apiserver-b' })],
    ['the signature is not of this key', () => header({}, generateKeyPairSync('ed25519').privateKey)],
    ['the signature is for another host', () => header({ host: 'http://10.0.0.2:8090' })],
    ['the signature is for another target', () => header({ target: 'POST /plugin-endpoints/blog/other' })],
    ['the signature is for another target', () => header({ target: 'GET /plugin-endpoints/blog/op' })],
    ['the body is not the signed one', () => header({ body: Buffer.from('{}\nbodY') })],
    ['the body is not the signed one', () => header({ body: Buffer.alloc(0) })],
  ])('is refused: %s', async (reason, make) => {
    expect(await refusalOf(make())).toBe(reason);
  });
});

test('an endless attacker does not fill the log: one line a second for each reason has the count', async () => {
  for (let i = 0; i < 1000; i += 1) await refusalOf(i % 2 === 0 ? undefined : header({ key: `svc-apiserver-${i}` }));
  expect(lines).toEqual([
    { reason: 'there is no signature' },
    { reason: 'no running API server has this key', key: 'svc-apiserver-1' },
  ]);
  now += 1000;
  await refusalOf(undefined);
  expect(lines.slice(2)).toEqual([{ reason: 'there is no signature', untold: 499 }]);
  now += 1000;
  await refusalOf(undefined);
  expect(lines.slice(3)).toEqual([{ reason: 'there is no signature' }]);
});

test('nothing is accepted, and nothing refused permanently, while keys cannot be read', async () => {
  keys = { find: () => Promise.reject(newServiceUnavailable('away')) };
  await expect(verifier.verify(header(), target, log)).rejects.toMatchObject({ code: 503 });
});

test('a malformed request causes no lookup of keys', async () => {
  keys = { find: () => Promise.reject(new Error('asked')) };
  for (const text of [undefined, 'x', header({ target: 'x' }), header({ time: 0 })])
    await expect(verifier.verify(text, target, log)).rejects.toMatchObject({ code: 401 });
});
