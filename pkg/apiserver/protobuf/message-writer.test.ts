import { expect, test } from '@jest/globals';
import { MessageWriter } from './message-writer.ts';

const cases: { reason: string; write: (message: MessageWriter) => void; hex: string }[] = [
  // The first two are the examples of protobuf.dev/programming-guides/encoding.
  { reason: 'a number of two bytes', write: (message) => message.integer(1, 150), hex: '089601' },
  { reason: 'a text', write: (message) => message.text(2, 'testing'), hex: '120774657374696e67' },
  { reason: 'a text is UTF-8', write: (message) => message.text(1, 'é'), hex: '0a02c3a9' },
  { reason: 'a field above 15 has two bytes', write: (message) => message.boolean(16, true), hex: '800101' },
  { reason: 'a number beyond 32 bits', write: (message) => message.integer(1, 2 ** 53 - 1), hex: '08ffffffffffffff0f' },
  { reason: 'a double is little-endian', write: (message) => message.double(7, 1.5), hex: '39000000000000f83f' },
  {
    reason: 'fields follow each other',
    write: (message) => {
      message.bytes(3, Buffer.alloc(0));
      message.integer(1, 0);
    },
    hex: '1a000800',
  },
];

test.each(cases)('$reason', ({ write, hex }) => {
  const message = new MessageWriter();
  write(message);
  expect(message.message().toString('hex')).toBe(hex);
});

test('a long text has its length in several bytes', () => {
  const message = new MessageWriter();
  message.text(1, 'x'.repeat(300));
  expect(message.message().subarray(0, 4).toString('hex')).toBe('0aac0278');
});
