import { expect, test } from '@jest/globals';
import { newForbidden } from '#pkg/apimachinery/index';
import { formatDetails } from './log-details.ts';

function described(details: object, longest = 16_384): Record<string, unknown> {
  return JSON.parse(formatDetails(details, longest) ?? '{"isTooLong":true}') as Record<string, unknown>;
}

test('errors at any position are described by their message, without attached objects', () => {
  class RequestError extends Error {
    readonly config = { headers: { authorization: 'Bearer abcdef0123456789' } };
    toJSON(): object {
      return { message: this.message, config: this.config };
    }
  }
  const err = new AggregateError([new RequestError('one'), 'two'], 'all', {
    cause: newForbidden({ group: 'a', resource: 'b' }, 'c', 'why'),
  });
  const details = described({ err, nested: { list: [new RequestError('three')] }, other: new RequestError('four') });
  expect(details).toMatchObject({
    err: {
      type: 'AggregateError',
      message: 'all',
      stack: expect.stringContaining('log-details.test'),
      cause: { code: 403, reason: 'Forbidden', stack: expect.any(String) },
      errors: [{ message: 'one' }, { message: 'two' }],
    },
    nested: { list: [{ message: 'three' }] },
    other: { message: 'four' },
  });
  expect(JSON.stringify(details)).not.toMatch(/abcdef0123456789/);
});

test.each<[string, unknown, object]>([
  ['a text', 'thrown', { message: 'thrown' }],
  ['nothing', undefined, { message: 'undefined' }],
  [
    'an object with headers',
    { response: { headers: { 'set-cookie': ['s'] } } },
    { message: 'an object without a message: {"response":{"headers":{"set-cookie":"***"}}}' },
  ],
])('under err %s is described like an error', (_case, err, expected) => {
  expect(described({ err })).toEqual({ err: expected });
});

test('cycles end, and one entry that cannot be described does not affect the others', () => {
  const circle: Record<string, unknown> = { a: 1 };
  circle['self'] = circle;
  circle['twice'] = [{ circle }, { b: 2 }];
  const trap = Object.defineProperty({ fine: 1, err: new Error('e') }, 'trap', {
    enumerable: true,
    get: () => {
      throw new Error('no');
    },
  });
  expect(described({ circle, big: 5n, nothing: undefined, f: () => 1 })).toEqual({
    circle: { a: 1, self: '[circular]', twice: [{ circle: '[circular]' }, { b: 2 }] },
    big: '5',
  });
  expect(described(trap)).toMatchObject({ fine: 1, err: { message: 'e' }, trap: 'could not be told' });
  const shared = { same: 1 };
  expect(described({ list: [shared, shared] })).toEqual({ list: [shared, shared] });
});

test('errors are cut to fit, and details that do not fit are dropped', () => {
  const err = new Error('m'.repeat(100_000));
  for (let i = 0, each: Error = err; i < 5; i += 1) each = each.cause = new Error(`${i}`.repeat(100_000));
  const { err: cut } = described({ err, object: 'o' }) as { err: { message: string; cause: { message: string } } };
  expect([cut.message.startsWith('mmm'), cut.cause.message.startsWith('000')]).toEqual([true, true]);
  expect(formatDetails({ long: 'x'.repeat(100_000) }, 16_384)).toBeUndefined();
});
