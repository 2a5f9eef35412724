import { expect, test } from '@jest/globals';
import { describeError } from './logger.ts';

test('an error is logged by what it says and why, without what hangs on it', () => {
  const cause = Object.assign(new Error('lost'), { code: '57P01', client: { secretKey: 1 } });
  expect(describeError(new TypeError('failed', { cause }))).toEqual({
    type: 'TypeError',
    message: 'failed',
    stack: expect.stringContaining('logger.test'),
    cause: { type: 'Error', message: 'lost', code: '57P01', stack: expect.any(String) },
  });
});

test('a circle of causes ends', () => {
  const error = new Error('why');
  error.cause = error;
  expect(JSON.stringify(describeError(error)).match(/"why"/g)).toHaveLength(6);
});

test('what is no error is said as text', () => {
  expect(describeError('away')).toEqual({ message: 'away' });
});
