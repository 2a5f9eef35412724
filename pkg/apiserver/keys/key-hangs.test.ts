import { expect, test } from '@jest/globals';
import { KeyHangs } from './key-hangs.ts';

test('a script that hangs too often is refused for a minute, and other scripts are not', () => {
  let now = 0;
  const hangs = new KeyHangs(() => now);
  for (let i = 0; i < 4; i += 1) {
    expect(() => hangs.check('a')).not.toThrow();
    hangs.add('a');
    now += 10_000;
  }
  expect(() => hangs.check('a')).toThrow(expect.objectContaining({ code: 'KeysUnavailable' }));
  expect(() => hangs.check('b')).not.toThrow();
  now += 49_999;
  expect(() => hangs.check('a')).toThrow();
  now += 1;
  expect(() => hangs.check('a')).not.toThrow();
});
