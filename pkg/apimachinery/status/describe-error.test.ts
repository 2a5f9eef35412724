import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { describeError } from './describe-error.ts';
import { newForbidden } from './status-error.ts';

test('the description of an error has its message and causes, and no other properties', () => {
  const cause = Object.assign(new Error('lost'), { code: '57P01', client: { secretKey: 1 } });
  expect(describeError(new TypeError('failed', { cause }))).toEqual({
    type: 'TypeError',
    message: 'failed',
    stack: expect.stringContaining('describe-error.test'),
    cause: { type: 'Error', message: 'lost', code: '57P01', stack: expect.any(String) },
  });
});

test('circular causes and circular aggregates end', () => {
  const error = new Error('why');
  error.cause = error;
  expect(JSON.stringify(describeError(error)).match(/"why"/g)).toHaveLength(6);
  const many = new AggregateError([], 'many');
  many.errors.push(...Array.from({ length: 100 }, () => many));
  expect(JSON.stringify(describeError(many)).match(/"many"/g)).toHaveLength(1 + 5 + 25);
});

test('an error of another realm and a described error are described the same', () => {
  expect(describeError(runInNewContext('new RangeError("far")'))).toMatchObject({
    type: 'RangeError',
    message: 'far',
    stack: expect.stringContaining('far'),
  });
  const description = describeError(
    new AggregateError([new Error('one', { cause: 'two' })], 'all', {
      cause: newForbidden({ group: 'a', resource: 'b' }, '', 'why'),
    }),
  );
  expect(description).toMatchObject({
    type: 'AggregateError',
    cause: { type: 'StatusError', code: 403, reason: 'Forbidden', message: 'b.a is forbidden: why' },
    errors: [{ message: 'one', cause: { message: 'two' } }],
  });
  expect(describeError(JSON.parse(JSON.stringify(description)))).toEqual(description);
});

const trap = {
  get message(): string {
    throw new Error('no');
  },
};
const circle: Record<string, unknown> = {};
circle['circle'] = circle;

test.each<[string, unknown, object]>([
  ['a text', 'away', { message: 'away' }],
  ['nothing', undefined, { message: 'undefined' }],
  ['null', null, { message: 'null' }],
  ['a symbol', Symbol('s'), { message: 'Symbol(s)' }],
  [
    'an object',
    { status: 500, big: 5n, headers: { Authorization: 'Basic x', 'x-api-key': ['k'] } },
    {
      message:
        'an object without a message: {"status":500,"big":"5","headers":{"Authorization":"***","x-api-key":"***"}}',
    },
  ],
  ['an object with a message', { message: 'm', type: 'Gone', token: 't' }, { type: 'Gone', message: 'm' }],
  ['a circle', circle, { message: 'an error that cannot be shown' }],
  ['a trap', trap, { message: 'an error that cannot be shown' }],
])('describes a thrown value: %s', (_case, thrown, described) => {
  expect(describeError(thrown)).toEqual(described);
});

test('messages, stacks, names and codes have a maximum length, and credentials in them are masked, even truncated ones', () => {
  expect(describeError({ message: 'm'.repeat(10_000), stack: 's'.repeat(10_000) })).toEqual({
    message: `${'m'.repeat(4000)}...`,
    stack: `${'s'.repeat(8000)}...`,
  });
  expect(describeError(new Error('m'.repeat(10_000))).stack).toMatch(
    /^Error: m{93}\.\.\.\n    at .*describe-error\.test/,
  );
  expect(describeError({ message: 'm', name: 'n'.repeat(10_000), code: 'c'.repeat(10_000) })).toEqual({
    message: 'm',
    type: `${'n'.repeat(200)}...`,
    code: `${'c'.repeat(200)}...`,
  });
  const said =
    'GET https://jane:pass@example.com/ with Authorization: Bearer abc.123-def_456 and Basic amFuZTpwYXNz and pat_0123456789abcdefghijklmnopqrst012345';
  expect(describeError({ message: said }).message).toBe(
    'GET https://***@example.com/ with Authorization: Bearer *** and Basic *** and pat_***',
  );
  expect(describeError({ message: 'Bearer authentication is not basic authentication' }).message).toBe(
    'Bearer authentication is not basic authentication',
  );
  expect(describeError({ message: `${'m'.repeat(3990)} pat_0123456789abcdefghijklmnopqrst012345` }).message).toBe(
    `${'m'.repeat(3990)} pat_***`,
  );
});
