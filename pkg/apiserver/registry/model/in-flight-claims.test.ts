import { expect, test } from '@jest/globals';
import type { IdempotencyClaim } from '#pkg/storage/index';
import { InFlightClaims } from './in-flight-claims.ts';

const kind = { group: 'blog.example.com', kind: 'Post' };
const claim: IdempotencyClaim = { user: 'ada', method: 'POST', path: '/posts', key: 'k1', bodyHash: 'h1' };

test('a second request under a claim is refused while the first is under way, and with another body differently', () => {
  const claims = new InFlightClaims();
  const end = claims.begin(claim, kind);
  expect(() => claims.begin(claim, kind)).toThrow(
    expect.objectContaining({ code: 409, details: { retryAfterSeconds: 1 } }),
  );
  expect(() => claims.check({ ...claim, bodyHash: 'h2' }, kind)).toThrow(expect.objectContaining({ code: 422 }));
  end();
  claims.begin({ ...claim, bodyHash: 'h2' }, kind);
});

test.each<Partial<IdempotencyClaim>>([{ user: 'bob' }, { method: 'PUT' }, { path: '/notes' }, { key: 'k2' }])(
  'a request that differs by %j has a claim of its own',
  (other) => {
    const claims = new InFlightClaims();
    claims.begin(claim, kind);
    const end = claims.begin({ ...claim, ...other, bodyHash: 'h2' }, kind);
    end();
    expect(() => claims.check(claim, kind)).toThrow(expect.objectContaining({ code: 409 }));
  },
);
