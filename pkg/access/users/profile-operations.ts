import { jsonAnswer, type Call, type Operation } from '../http/operation.ts';
import { OwnProfile, type OwnProfileParts } from './own-profile.ts';
import { userDocuments } from './user-documents.ts';

const path = '/api/v1/users/profile/';

/** What people see and change of themselves, whatever their role. */
export function profileOperations(parts: OwnProfileParts): Operation[] {
  const profile = new OwnProfile(parts);
  const answer = async ({ caller }: Call) => jsonAnswer(200, await profile.record(caller));
  const update = (isWhole: boolean) => async (call: Call) => {
    await profile.update(call, await call.request.fields(), { isWhole });
    return answer(call);
  };
  const changePassword = async (call: Call) => {
    await profile.changePassword(call, await call.request.fields());
    return answer(call);
  };
  const access = 'user';
  return [
    { method: 'GET', path, operationId: 'readProfile', access, document: userDocuments.readProfile, handle: answer },
    {
      method: 'PUT',
      path,
      operationId: 'replaceProfile',
      access,
      document: userDocuments.replaceProfile,
      handle: update(true),
    },
    {
      method: 'PATCH',
      path,
      operationId: 'updateProfile',
      access,
      document: userDocuments.updateProfile,
      handle: update(false),
    },
    {
      method: 'PUT',
      path: `${path}password/`,
      operationId: 'changePassword',
      access,
      document: userDocuments.changePassword,
      handle: changePassword,
    },
  ];
}
