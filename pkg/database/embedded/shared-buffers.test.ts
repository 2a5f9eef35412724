import { expect, test } from '@jest/globals';
import { sharedBuffers } from './shared-buffers.ts';

const gigabyte = 1024 ** 3;

test.each([
  ['a small container', gigabyte / 2, '128MB'],
  ['a laptop', 8 * gigabyte, '1024MB'],
  ['a large machine', 512 * gigabyte, '2048MB'],
])('of %s', (_, memory, expected) => {
  expect(sharedBuffers(memory)).toBe(expected);
});

test('of this machine is within its limits', () => {
  expect(sharedBuffers()).toMatch(/^\d+MB$/);
  expect(Number.parseInt(sharedBuffers())).toBeGreaterThanOrEqual(128);
  expect(Number.parseInt(sharedBuffers())).toBeLessThanOrEqual(2048);
});
