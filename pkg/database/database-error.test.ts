import { expect, test } from '@jest/globals';
import { messageOf } from './database-error.ts';

const cases = [
  { reason: 'an error has its message', thrown: new Error('no'), message: 'no' },
  {
    reason: 'an error of IPv4 and IPv6 together has the messages of both',
    thrown: new AggregateError([new Error('::1'), new Error('127.0.0.1')]),
    message: '::1; 127.0.0.1',
  },
  {
    reason: 'an aggregate may have its own message',
    thrown: new AggregateError([new Error('no')], 'both failed'),
    message: 'both failed',
  },
  { reason: 'anything may be thrown', thrown: 'no', message: 'no' },
];
test.each(cases)('$reason', ({ thrown, message }) => {
  expect(messageOf(thrown)).toBe(message);
});
