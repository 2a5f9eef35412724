import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KeyRing } from './key-ring.ts';
import { SecretBox } from './secret-box.ts';
import { SecretError } from './secret-error.ts';
import { sealedBy, SecretKey } from './secret-key.ts';

const [older, newer, stranger] = [SecretKey.generate(), SecretKey.generate(), SecretKey.generate()];
const boxOf = (...keys: SecretKey[]): SecretBox => new SecretBox(new KeyRing(keys));
const box = boxOf(newer, older);

function reasonOf(open: () => string): string | undefined {
  try {
    open();
    return undefined;
  } catch (error) {
    return error instanceof SecretError ? error.reason : 'not a SecretError';
  }
}

describe('a sealed secret', () => {
  test('opens for its purpose, by the key that sealed it, at any position', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        fc.boolean(),
        (text, purpose, byOlder) => {
          const sealed = (byOlder ? boxOf(older) : box).seal(text, purpose);
          expect(box.open(sealed, purpose)).toBe(text);
          expect(sealedBy(sealed)).toBe((byOlder ? older : newer).id);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('does not open with any bit changed, or with bytes added or removed', () => {
    const sealed = box.seal('a secret', 'access-keys/1');
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect({ bit, reason: reasonOf(() => box.open(changed, 'access-keys/1')) }).toEqual({
        bit,
        reason: expect.stringMatching(/^un/),
      });
    }
    for (let length = 0; length < sealed.length; length += 1)
      expect(reasonOf(() => box.open(sealed.subarray(0, length), 'access-keys/1'))).toBe('unreadable');
    expect(reasonOf(() => box.open(Buffer.concat([sealed, Buffer.of(0)]), 'access-keys/1'))).toBe('unreadable');
  });

  test('does not open for another purpose', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (purpose, other) => {
        fc.pre(purpose !== other);
        expect(reasonOf(() => box.open(box.seal('x', purpose), other))).toBe('unreadable');
      }),
      { numRuns: 100 },
    );
  });

  test('distinguishes an absent key from a wrong one', () => {
    expect(reasonOf(() => box.open(boxOf(stranger).seal('x', 'p'), 'p'))).toBe('unknown-key');
    expect(reasonOf(() => stranger.open(newer.seal('x', 'p'), 'p'))).toBe('unreadable');
  });

  test('is different each time, and does not contain the text', () => {
    const sealed = [box.seal('a secret', 'p'), box.seal('a secret', 'p')];
    expect(sealed[0]!.equals(sealed[1]!)).toBe(false);
    expect(sealed[0]!.includes('a secret')).toBe(false);
  });

  test('any other bytes cause a SecretError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) =>
        expect(reasonOf(() => box.open(Buffer.from(bytes), 'p'))).toMatch(/^un/),
      ),
      { numRuns: 200 },
    );
  });
});

describe('a hash for lookups', () => {
  test('is computed with the primary key, and found with any key', () => {
    expect(box.lookup('t', 'p')).toEqual(boxOf(newer).lookup('t', 'p'));
    expect(box.lookups('t', 'p')).toEqual([newer.hash('t', 'p'), older.hash('t', 'p')]);
    expect(box.newLookups('t', 'p', box.lookups('t', 'p'))).toEqual([]);
    expect(box.newLookups('t', 'p', boxOf(older).lookups('t', 'p'))).toEqual([newer.hash('t', 'p')]);
  });

  test('differs by text, purpose and key', () => {
    const hashes = [
      newer.hash('t', 'p'),
      newer.hash('u', 'p'),
      newer.hash('t', 'q'),
      newer.hash('', 'pt'),
      older.hash('t', 'p'),
    ];
    expect(new Set(hashes.map((hash) => hash.toString('hex'))).size).toBe(hashes.length);
  });
});

describe('a key', () => {
  test('is read from 64 hexadecimal digits and nothing else', () => {
    expect(SecretKey.parse(newer.reveal())?.id).toBe(newer.id);
    expect(SecretKey.parse(newer.reveal().toUpperCase())?.id).toBe(newer.id);
    for (const text of [
      '',
      'a'.repeat(63),
      'a'.repeat(65),
      'g'.repeat(64),
      `${'a'.repeat(64)}\n`,
      ` ${'a'.repeat(63)}`,
    ])
      expect(SecretKey.parse(text)).toBeUndefined();
  });

  test('has an id, and stable subkeys', () => {
    const key = SecretKey.parse('00'.repeat(32))!;
    expect([key.id, key.hash('text', 'purpose').toString('hex')]).toEqual([
      '8bb9172d9e21',
      '69715859b2d0ffe4a39e032e18dcde31090670a22652f0749a4c7981108f3765',
    ]);
    expect(
      key.open(
        Buffer.from('018bb9172d9e216296eb74ac25bdb728078252c70433964d27fb07201300394ad6f12de7e86848', 'hex'),
        'purpose',
      ),
    ).toBe('text');
  });

  test('does not show its bytes when it is inspected or printed', () => {
    for (const shown of [
      inspect(box, { depth: 9, showHidden: true }),
      JSON.stringify(newer),
      inspect(new KeyRing([newer]), { depth: 9 }),
    ]) {
      expect(shown).not.toContain(newer.reveal());
      expect(shown).not.toMatch(/Buffer|Uint8Array/);
    }
  });
});
