import { describe, expect, test } from '@jest/globals';
import { faultLines, longestSilence } from './fault-table.ts';

describe('the longest time without a write', () => {
  test.each([
    ['between two writes', [100, 900, 1000], 800],
    ['before the first', [600, 700, 900], 600],
    ['after the last', [100, 300], 700],
    ['without any', [], 1000],
    ['writes outside of the time do not count', [-50, 500, 1200], 500],
  ])('%s', (_, moments, silence) => {
    expect(longestSilence(moments, { from: 0, to: 1000 })).toBe(silence);
  });
});

test('a fault is a row', () => {
  const silence = { 'several hosts': 12_340, haproxy: 400 };
  expect(faultLines([{ name: 'two etcd members', lasted: 30_000, silence, hasNewPrimary: true }])).toEqual([
    '| seconds          | lasted | no writes, several hosts | no writes, haproxy | another primary |',
    '| ---------------- | ------ | ------------------------ | ------------------ | --------------- |',
    '| two etcd members | 30.0   | 12.3                     | 0.4                | yes             |',
  ]);
});
