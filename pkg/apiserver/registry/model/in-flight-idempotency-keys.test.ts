import { expect, test } from '@jest/globals';
import type { IdempotencyKey } from '#pkg/storage/index';
import { InFlightIdempotencyKeys } from './in-flight-idempotency-keys.ts';

const kind = { group: 'blog.example.com', kind: 'Post' };
const idempotencyKey: IdempotencyKey = { user: 'ada', method: 'POST', path: '/posts', key: 'k1', bodyHash: 'h1' };

test('a second request with an idempotency key is refused while the first is in progress, and differently with another body', () => {
  const idempotencyKeys = new InFlightIdempotencyKeys();
  const end = idempotencyKeys.begin(idempotencyKey, kind);
  expect(() => idempotencyKeys.begin(idempotencyKey, kind)).toThrow(
    expect.objectContaining({ code: 409, details: { retryAfterSeconds: 1 } }),
  );
  expect(() => idempotencyKeys.check({ ...idempotencyKey, bodyHash: 'h2' }, kind)).toThrow(
    expect.objectContaining({ code: 422 }),
  );
  end();
  idempotencyKeys.begin({ ...idempotencyKey, bodyHash: 'h2' }, kind);
});

test.each<Partial<IdempotencyKey>>([{ user: 'bob' }, { method: 'PUT' }, { path: '/notes' }, { key: 'k2' }])(
  'a request that differs by %j has another idempotency key',
  (other) => {
    const idempotencyKeys = new InFlightIdempotencyKeys();
    idempotencyKeys.begin(idempotencyKey, kind);
    const end = idempotencyKeys.begin({ ...idempotencyKey, ...other, bodyHash: 'h2' }, kind);
    end();
    expect(() => idempotencyKeys.check(idempotencyKey, kind)).toThrow(expect.objectContaining({ code: 409 }));
  },
);
