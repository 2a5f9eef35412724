import { expect, test } from '@jest/globals';
import { LineSplitter } from './line-splitter.ts';

test('lines are whole, however the bytes are cut, in the middle of a letter too', () => {
  const bytes = Buffer.from('{"a":"ä€"}\n\n{"b":2}\n{"half');
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const lines = new LineSplitter();
    expect([...lines.take(bytes.subarray(0, cut)), ...lines.take(bytes.subarray(cut))]).toEqual([
      '{"a":"ä€"}',
      '',
      '{"b":2}',
    ]);
  }
});
