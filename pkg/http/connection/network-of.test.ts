import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { networkOf } from './client-address.ts';

test.each([
  { address: '192.0.2.1', network: '192.0.2.1', reason: 'an IPv4 address counts as itself' },
  { address: '2001:db8:1:2:3:4:5:6', network: '2001:db8:1:2::/64', reason: 'written out' },
  { address: '2001:DB8:1:2::6', network: '2001:db8:1:2::/64', reason: 'capitals mean the same' },
  {
    address: '2001:0db8:0001:0002:ffff:ffff:ffff:ffff',
    network: '2001:db8:1:2::/64',
    reason: 'leading zeros mean the same',
  },
  { address: '2001:db8::1', network: '2001:db8:0:0::/64', reason: 'zeros left out within the network' },
  { address: '::1', network: '0:0:0:0::/64', reason: 'zeros left out in front' },
  { address: 'fe80::1%eth0', network: 'fe80:0:0:0::/64', reason: 'the zone is not part of it' },
  { address: '64:ff9b::192.0.2.1', network: '64:ff9b:0:0::/64', reason: 'IPv4 at its end' },
  { address: '2001:db8:1:2::', network: '2001:db8:1:2::/64', reason: 'zeros left out at the end' },
  { address: '', network: '', reason: 'a closed connection has none' },
])('$address is counted as $network: $reason', ({ address, network }) => {
  expect(networkOf(address)).toBe(network);
});

test('an IPv6 address in any notation counts by its first 64 bits', () => {
  // Zeros are common, because only they can be left out.
  const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
  fc.assert(
    fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
      const long = groups.map((value) => value.toString(16).padStart(4, '0')).join(':');
      const short = new URL(`http://[${long}]`).hostname.slice(1, -1);
      const network = `${groups
        .slice(0, 4)
        .map((value) => value.toString(16))
        .join(':')}::/64`;
      expect([networkOf(long), networkOf(short), networkOf(short.toUpperCase())]).toEqual([network, network, network]);
    }),
  );
});
