import { describe, expect, test } from '@jest/globals';
import { failureOf } from './failure.ts';

const failure = (status: number, body: unknown, headers: Record<string, string> = {}): ReturnType<typeof failureOf> =>
  failureOf(new Response(null, { status, headers }), typeof body === 'string' ? body : JSON.stringify(body));

describe('a failure', () => {
  test.each<[string, number, unknown, object]>([
    [
      'of the content platform',
      409,
      { kind: 'Status', code: 409, reason: 'AlreadyExists', message: 'it exists', details: { name: 'a' } },
      { code: 409, reason: 'AlreadyExists', message: 'it exists', details: { name: 'a' } },
    ],
    [
      'of access management',
      403,
      { detail: 'Not you.', code: 'permission_denied' },
      {
        code: 403,
        reason: 'Forbidden',
        message: 'Not you.',
        details: { causes: [{ reason: 'permission_denied', message: 'Not you.' }] },
      },
    ],
    [
      'of a login',
      400,
      { error: 'password_failed', msg: 'Wrong.' },
      { code: 400, message: 'Wrong.', details: { causes: [{ reason: 'password_failed', message: 'Wrong.' }] } },
    ],
    [
      'of fields',
      400,
      { email: ['Not an address.', 5], non_field_errors: ['Nothing fits.'] },
      {
        code: 400,
        message: 'email: Not an address. Nothing fits.',
        details: {
          causes: [
            { reason: 'FieldValueInvalid', field: 'email', message: 'Not an address.' },
            { reason: 'FieldValueInvalid', message: 'Nothing fits.' },
          ],
        },
      },
    ],
    ['of a proxy', 502, '<html>', { code: 502, reason: 'ServiceUnavailable', message: 'the server answered 502' }],
    ['without words', 429, {}, { code: 429, reason: 'TooManyRequests', message: 'the server answered 429' }],
    ['of a wrong form', 400, { detail: {}, code: {} }, { code: 400 }],
  ])('%s is read', (_reason, status, body, expected) => {
    expect(failure(status, body)).toMatchObject(expected);
  });

  test('has the time of Retry-After, and the id of the request', () => {
    const { details, requestId } = failure(429, {}, { 'Retry-After': '7', 'X-Request-Id': 'r1' });
    expect([details?.retryAfterSeconds, requestId]).toEqual([7, 'r1']);
  });
});
