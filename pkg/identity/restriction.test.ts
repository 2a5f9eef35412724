import { expect, test } from '@jest/globals';
import { restrictedBy, restrictionKey, withRestrictionFromExtra } from './restriction.ts';
import type { UserInfo } from './user-info.ts';

const user: UserInfo = { name: 'a', uid: '', groups: [] };

test.each<[string, UserInfo['extra'], UserInfo['restriction']]>([
  ['no extra', undefined, undefined],
  ['another', { team: ['x'] }, undefined],
  ['roles', { [restrictionKey]: ['view', 'edit'] }, { roles: ['view', 'edit'] }],
  ['no role, which allows nothing', { [restrictionKey]: [] }, { roles: [] }],
])('a user described as %s', (_reason, extra, restriction) => {
  expect(withRestrictionFromExtra({ ...user, ...(extra === undefined ? {} : { extra }) }).restriction).toEqual(
    restriction,
  );
});

test.each<[string, UserInfo['restriction'], UserInfo['restriction'], UserInfo['restriction']]>([
  ['no restriction by no restriction', undefined, undefined, undefined],
  ['one by none', { roles: ['a'] }, undefined, { roles: ['a'] }],
  ['none by one', undefined, { roles: ['a'] }, { roles: ['a'] }],
  ['one by another', { roles: ['a', 'b'] }, { roles: ['b', 'c'] }, { roles: ['b'] }],
])('restriction: %s', (_reason, own, by, left) => {
  expect(restrictedBy({ ...user, ...(own === undefined ? {} : { restriction: own }) }, by).restriction).toEqual(left);
});
