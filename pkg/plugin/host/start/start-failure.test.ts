import { expect, test } from '@jest/globals';
import {
  newBadRequest,
  newConflict,
  newNotFound,
  newRequestEntityTooLarge,
  newServiceUnavailable,
  newTooManyRequests,
} from '#pkg/apimachinery/index';
import { asStartFailure, StartFailure } from './start-failure.ts';

const plugins = { group: 'plugin.svc.run', resource: 'plugins' };

test.each([
  ['a text that cannot be stored', newBadRequest('status: must not hold the character U+0000'), 'BadRequest'],
  ['too much', newRequestEntityTooLarge('the body is too large'), 'RequestEntityTooLarge'],
  ['a race', newConflict(plugins, 'a', 'it has changed'), undefined],
  ['a deleted Plugin', newNotFound(plugins, 'a'), undefined],
  ['a busy server', newTooManyRequests('later', 1), undefined],
  ['an unavailable server', newServiceUnavailable('away'), undefined],
  ['no response', new Error('a bug'), undefined],
])('%s', (_case, error, reason) => {
  const failure = asStartFailure(error);
  expect(failure instanceof StartFailure ? failure.change.Healthy?.reason : failure).toBe(reason ?? error);
});
