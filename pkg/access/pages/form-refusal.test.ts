import { describe, expect, test } from '@jest/globals';
import { newBadRequest, newInternalError, StatusError } from '#pkg/apimachinery/index';
import {
  newDetail,
  newFieldErrors,
  newAccessNotFound,
  newThrottled,
  newAccessUnavailable,
} from '../http/access-error.ts';
import { newAccountLocked } from '../login/login-error.ts';
import { refusalOf } from './form-refusal.ts';

describe('the message of a form', () => {
  test.each([
    [
      'of fields',
      newFieldErrors({ name: ['Too long.', 'Too odd.'], non_field_errors: ['No.'] }),
      { status: 400, problems: { name: ['Too long.', 'Too odd.'], '': ['No.'] } },
    ],
    ['of no field', newAccessNotFound(), { status: 404, problems: { '': ['Not found.'] } }],
    [
      'of a login',
      newAccountLocked(5),
      { status: 400, problems: { '': [expect.stringContaining('Try again in 5 minutes')] } },
    ],
    [
      'to wait',
      newThrottled(3),
      { status: 429, headers: { 'Retry-After': '3' }, problems: { '': [expect.stringContaining('3 seconds')] } },
    ],
    ['of the platform', newBadRequest('what?'), { status: 400, problems: { '': ['what?'] } }],
    [
      'of the platform, of fields',
      new StatusError(422, 'Invalid', 'invalid', {
        details: {
          causes: [
            { reason: 'FieldValueInvalid', field: 'spec.expiresAt', message: 'is past' },
            { reason: 'FieldValueInvalid', field: 'spec.roles[1]', message: 'is not yours' },
          ],
        },
      }),
      { status: 422, problems: { expiresAt: ['is past'], roles: ['is not yours'] } },
    ],
  ])('%s', (_reason, error, expected) => {
    expect(refusalOf(error)).toMatchObject(expected);
  });

  test.each([
    ['an internal error', newDetail(500, 'error', 'x')],
    ['an unavailable database', newAccessUnavailable()],
    ['an internal error of the platform', newInternalError('x')],
    ['a bug', new Error('x')],
  ])('does not come from %s', (_reason, error) => {
    expect(refusalOf(error)).toBeUndefined();
  });
});
