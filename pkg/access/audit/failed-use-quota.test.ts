import { expect, test } from '@jest/globals';
import { FailedUseQuota } from './failed-use-quota.ts';

const taken = (quota: FailedUseQuota, addresses: readonly string[]): number =>
  addresses.filter((address) => quota.take(address)).length;

test('of one address the first 60 are recorded, without an effect on others', () => {
  const quota = new FailedUseQuota();
  expect(
    taken(
      quota,
      Array.from({ length: 100 }, () => '192.0.2.1'),
    ),
  ).toBe(60);
  expect(quota.take('192.0.2.2')).toBe(true);
});

test('all addresses of an IPv6 network are counted together', () => {
  expect(
    taken(
      new FailedUseQuota(),
      Array.from({ length: 100 }, (_, i) => `2001:db8::${i.toString(16)}`),
    ),
  ).toBe(60);
});

test('of many addresses the first 1000 are recorded', () => {
  expect(
    taken(
      new FailedUseQuota(),
      Array.from({ length: 2_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`),
    ),
  ).toBe(1_000);
});
