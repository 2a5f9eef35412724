import { expect, test } from '@jest/globals';
import { anonymousUser, systemAuthenticated, systemMasters, type UserInfo } from '#pkg/identity/index';
import { MastersAuthorizer } from './rbac-authorizer.ts';

const cases: { reason: string; user: UserInfo; allowed: boolean }[] = [
  {
    reason: 'masters may do everything',
    user: { name: 'admin', uid: '', groups: [systemAuthenticated, systemMasters] },
    allowed: true,
  },
  {
    reason: 'an authenticated user without roles may do nothing',
    user: { name: 'mia', uid: '', groups: [systemAuthenticated] },
    allowed: false,
  },
  {
    reason: 'the name system:masters as a user gives nothing',
    user: { name: systemMasters, uid: '', groups: [] },
    allowed: false,
  },
  { reason: 'anonymous users may do nothing', user: anonymousUser, allowed: false },
];

test.each(cases)('$reason', async ({ user, allowed }) => {
  const attributes = {
    user,
    verb: 'get',
    group: '',
    version: 'v1',
    resource: 'namespaces',
    subresource: '',
    namespace: '',
    name: 'default',
    isResourceRequest: true,
    path: '/',
  };
  expect((await new MastersAuthorizer().authorize(attributes)).allowed).toBe(allowed);
});
