import { defineOperation } from '../operations/define-operation.ts';
import {
  jsonAnswer,
  type AccessResponse,
  type Call,
  type Operation,
  type OperationDeclaration,
} from '../operations/operation.ts';
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

/** What people see and change of themselves, whatever their role. */
export function profileOperations(parts: OwnProfileParts): Operation[] {
  const profile = new OwnProfile(parts);
  const answer = async ({ caller }: Call): Promise<AccessResponse> => jsonAnswer(200, await profile.record(caller));
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
        return answer(call);
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
      handle: answer,
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
        return answer(call);
      },
    }),
  ];
}
