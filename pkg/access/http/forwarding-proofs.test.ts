import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KeyRing } from '../secrets/key-ring.ts';
import { SecretBox } from '../secrets/secret-box.ts';
import { SecretKey } from '../secrets/secret-key.ts';
import { ForwardingProofs } from './forwarding-proofs.ts';

const [older, newer, stranger] = [SecretKey.generate(), SecretKey.generate(), SecretKey.generate()];
const request = { method: 'POST', target: '/api/v1/users/users/?a=%2f' };
const forwarded = { clientAddress: '10.0.0.1', origin: 'https://svc.example.com', publicUrl: 'https://a.example.com' };

function proofsOf(keys: readonly SecretKey[], now?: () => number): ForwardingProofs {
  return new ForwardingProofs(new SecretBox(new KeyRing(keys)), now);
}

test('a server with the same keys believes it, whichever of them it was made with', () => {
  for (const [made, checked] of [
    [[newer], [newer]],
    [[older], [newer, older]],
    [
      [newer, older],
      [older, newer],
    ],
  ] as const)
    expect(proofsOf(checked).check(proofsOf(made).prove(request, forwarded), request)).toEqual(forwarded);
  const { publicUrl: _none, ...least } = forwarded;
  expect(proofsOf([newer]).check(proofsOf([newer]).prove(request, least), request)).toEqual(least);
});

test('it holds for no other request, and no other key', () => {
  const text = proofsOf([newer]).prove(request, forwarded);
  expect(proofsOf([stranger]).check(text, request)).toBeUndefined();
  for (const other of [
    { ...request, method: 'GET' },
    { ...request, target: '/api/v1/users/users/?a=%2F' },
    { ...request, target: '/api/v1/users/users/' },
    { method: 'POST /api/v1', target: '/users/users/?a=%2f' },
  ])
    expect(proofsOf([newer]).check(text, other)).toBeUndefined();
});

test('it holds for five minutes, by either clock', () => {
  const text = proofsOf([newer], () => 1_000_000).prove(request, forwarded);
  const checkAt = (ms: number): unknown => proofsOf([newer], () => 1_000_000 + ms).check(text, request);
  expect([checkAt(300_000), checkAt(-300_000)]).toEqual([forwarded, forwarded]);
  expect([checkAt(300_001), checkAt(-300_001)]).toEqual([undefined, undefined]);
});

test('a changed proof is none', () => {
  const text = proofsOf([newer]).prove(request, forwarded);
  fc.assert(
    fc.property(
      fc.nat(text.length - 1),
      fc.constantFrom('A', 'z', '0', '-', '_', '.', '=', '+', ' ', '\u00e9'),
      (at, character) => {
        fc.pre(text[at] !== character);
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        expect(proofsOf([newer]).check(changed, request)).toBeUndefined();
      },
    ),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (junk) => {
      expect(proofsOf([newer]).check(junk, request)).toBeUndefined();
    }),
  );
  const spelledOtherwise = Array.from('0123', (digit) => text.slice(0, -1) + digit);
  for (const other of [`${text}.`, `${text}=`, text.replaceAll('-', '+').replaceAll('_', '/'), ...spelledOtherwise])
    if (other !== text) expect(proofsOf([newer]).check(other, request)).toBeUndefined();
});

test('without a key none is made and none is believed', () => {
  const empty = proofsOf([]);
  expect(empty.check(proofsOf([newer]).prove(request, forwarded), request)).toBeUndefined();
  expect(() => empty.prove(request, forwarded)).toThrow(expect.objectContaining({ code: 503 }));
});
