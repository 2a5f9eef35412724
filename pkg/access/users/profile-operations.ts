import { defineOperation } from '../operations/define-operation.ts';
import type { Operation, OperationDeclaration } from '../operations/operation.ts';
import { anyUser } from '../operations/permission.ts';
import {
  OwnProfile,
  passwordChangeFields,
  profileChangeFields,
  profileFields,
  type OwnProfileParts,
} from './own-profile.ts';
import { userRecord } from './user.ts';

const path = '/api/v1/users/profile/';
const shared = { tag: 'Users', permission: anyUser, answers: { 200: userRecord } };

/** Users read and change their own profile, with any role. */
export function profileOperations(parts: OwnProfileParts): Operation[] {
  const profile = new OwnProfile(parts);
  const changeOperation = (
    declaration: Pick<OperationDeclaration, 'method' | 'operationId' | 'summary'> & {
      body: typeof profileFields | typeof profileChangeFields;
    },
  ): Operation =>
    defineOperation({
      path,
      ...shared,
      ...declaration,
      handle: async (call) => {
        await profile.update(call, (await call.readBody()).done());
        return profile.record(call.caller);
      },
    });
  return [
    defineOperation({
      method: 'GET',
      path,
      operationId: 'readProfile',
      summary: 'Who I am',
      description: 'With the roles in every organization.',
      ...shared,
      handle: ({ caller }) => profile.record(caller),
    }),
    changeOperation({
      method: 'PUT',
      operationId: 'replaceProfile',
      summary: 'Change my profile',
      body: profileFields,
    }),
    changeOperation({
      method: 'PATCH',
      operationId: 'updateProfile',
      summary: 'Change something of my profile',
      body: profileChangeFields,
    }),
    defineOperation({
      method: 'PUT',
      path: `${path}password/`,
      operationId: 'changePassword',
      summary: 'Change my password',
      description: 'Ends all other sessions and all Bearer tokens. A wrong old password counts as a failed login.',
      ...shared,
      body: passwordChangeFields,
      handle: async (call) => {
        await profile.changePassword(call, await call.readBody());
        return profile.record(call.caller);
      },
    }),
  ];
}
