import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { allowsAddress, isIpGroupEntry } from './ip-group.ts';

describe('an address list', () => {
  test.each<[string, string[], string, boolean]>([
    ['everywhere', ['*'], '203.0.113.9', true],
    ['everywhere, IPv6', ['*'], '2001:db8::1', true],
    ['nowhere', [], '203.0.113.9', false],
    ['the address', ['203.0.113.9'], '203.0.113.9', true],
    ['another address', ['203.0.113.9'], '203.0.113.90', false],
    ['one of several', ['10.0.0.1', '203.0.113.9'], '203.0.113.9', true],
    ['within a network', ['10.0.0.0/8'], '10.255.0.1', true],
    ['a network by an address within', ['10.1.2.3/8'], '10.255.0.1', true],
    ['beyond a network', ['10.0.0.0/8'], '11.0.0.1', false],
    ['a network of one', ['10.0.0.1/32'], '10.0.0.2', false],
    ['every IPv4 address', ['0.0.0.0/0'], '203.0.113.9', true],
    ['no IPv6 address', ['0.0.0.0/0'], '2001:db8::1', false],
    ['the ends of a range', ['10.0.0.1-10.0.0.9'], '10.0.0.1', true],
    ['the ends of a range', ['10.0.0.1-10.0.0.9'], '10.0.0.9', true],
    ['beyond a range', ['10.0.0.1-10.0.0.9'], '10.0.0.10', false],
    ['an IPv6 address in any notation', ['2001:DB8:0:0::1'], '2001:db8::1', true],
    ['an IPv6 network', ['2001:db8::/32'], '2001:db8:ffff::1', true],
    ['an IPv6 range', ['2001:db8::1-2001:db8::ff'], '2001:db8::80', true],
    ['an IPv4 address written as IPv6', ['::ffff:10.0.0.1'], '10.0.0.1', true],
    ['an invalid entry does not hide the others', ['nonsense', '10.0.0.1'], '10.0.0.1', true],
    ['no address at all', ['0.0.0.0/0', '::/0'], '', false],
  ])('%s: %j, %s is %s', (_, ipGroup, address, expected) => {
    expect(allowsAddress(ipGroup, address)).toBe(expected);
  });

  test.each([
    '*',
    '10.0.0.1',
    '10.0.0.0/8',
    '10.0.0.0/0',
    '10.0.0.1-10.0.0.1',
    '::1',
    '2001:db8::/32',
    '::1-::2',
    '::ffff:10.0.0.1',
  ])('may hold %j', (entry) => {
    expect(isIpGroupEntry(entry)).toBe(true);
  });

  test.each([
    '',
    ' ',
    '**',
    '10.0.0',
    '10.0.0.256',
    '010.0.0.1',
    '10.0.0.1/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.9-10.0.0.1',
    '10.0.0.1-::1',
    '10.0.0.1-',
    '-10.0.0.1',
    '::/129',
    'fe80::1%eth0',
    'example.com',
    '10.0.0.1 ',
    '10.0.0.1\n',
    '10.0.0.1-10.0.0.2-10.0.0.3',
    '10.0.0.0/8.5',
  ])('may not hold %j', (entry) => {
    expect(isIpGroupEntry(entry)).toBe(false);
  });

  test('allows the addresses of a range, and no text causes an error', () => {
    const dotted = (value: number): string =>
      [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].join('.');
    const address = fc.integer({ min: 0, max: 2 ** 32 - 1 });
    fc.assert(
      fc.property(address, address, address, (a, b, c) => {
        const [first, last] = a < b ? [a, b] : [b, a];
        return allowsAddress([`${dotted(first)}-${dotted(last)}`], dotted(c)) === (c >= first && c <= last);
      }),
    );
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('1', '0', 'f', '.', ':', '/', '-', '%', '*', 'ü') }),
        fc.ipV4(),
        (entry, from) => typeof allowsAddress([entry], from) === 'boolean',
      ),
    );
  });
});
