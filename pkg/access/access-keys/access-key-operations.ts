import { Type, type Static } from 'typebox';
import type { JsonObject, JsonValue } from '#pkg/apimachinery/index';
import { actorOf } from '../audit/audit.ts';
import {
  newDetail,
  newFieldErrors,
  newAccessNotFound,
  newPermissionDenied,
  type AccessError,
} from '../http/access-error.ts';
import { shortList } from '../operations/list-answer.ts';
import { CheckedFields } from '../operations/checked-fields.ts';
import { defineList, defineOperation } from '../operations/define-operation.ts';
import { nullable, timestamp, uuid } from '../operations/field-schemas.ts';
import type { Call, Operation, OperationDeclaration } from '../operations/operation.ts';
import { anyUser } from '../operations/permission.ts';
import {
  maxAccessKeys,
  type AccessKey,
  type AccessKeys,
  type AccessKeySettings,
  type KeyOwner,
} from './access-keys.ts';
import { anyAddress, isIpGroupEntry } from './ip-group.ts';

const path = '/api/v1/authentication/access-keys/';
const tag = 'Access keys';
const maxEntries = 100;

const ipGroupDocument = {
  default: [anyAddress],
  description: 'From where it may be used: *, addresses, ranges as 10.0.0.0/8 or 10.0.0.1-10.0.0.9.',
};
const ipGroupExpected = `A list of 1 to ${maxEntries} entries is expected: *, an address, a range as 10.0.0.0/8, or one as 10.0.0.1-10.0.0.9.`;
const settings = Type.Object({
  ip_group: Type.Optional(
    Type.Unsafe<string[]>({
      ...Type.Array(Type.String({ fault: (entry: string) => (isIpGroupEntry(entry) ? undefined : ipGroupExpected) }), {
        minItems: 1,
        maxItems: maxEntries,
      }),
      ...ipGroupDocument,
      // Forms send text only: the list's entries, separated by commas.
      prepare: (sent: JsonValue) =>
        typeof sent === 'string' ? sent.split(/[\s,]+/).filter((entry) => entry !== '') : sent,
      refusal: ipGroupExpected,
    }),
  ),
  is_active: Type.Optional(
    Type.Boolean({
      default: true,
      prepare: (sent: JsonValue) => (sent === 'true' ? true : sent === 'false' ? false : sent),
      refusal: 'true or false is expected.',
    }),
  ),
});
const keyFields = {
  id: uuid(),
  ip_group: Type.Array(Type.String(), ipGroupDocument),
  is_active: Type.Boolean({ default: true }),
  date_created: timestamp(),
  date_last_used: nullable(timestamp()),
};
const keyRecord = Type.Object(keyFields);

/** A user's own access keys over HTTP; another user's key is 404 for every caller. */
export function accessKeyOperations(keys: AccessKeys): Operation[] {
  const ofOne = { path: `${path}{id}/`, tag, permission: anyUser, answers: { 200: keyRecord } };
  const changeOperation = (
    declaration: Pick<OperationDeclaration, 'method' | 'operationId' | 'description'>,
  ): Operation =>
    defineOperation({
      summary: 'Change an access key',
      ...ofOne,
      ...declaration,
      body: settings,
      handle: async (call) => {
        const changed = settingsOf((await call.readBody()).done());
        if (changed.ipGroup !== undefined) refuseWidening(call);
        const key = await keys.update(keyOwnerOf(call), call.params['id']!, changed);
        if (key === undefined) throw newAccessNotFound();
        return present(key);
      },
    });
  return [
    defineList({
      path,
      operationId: 'listAccessKeys',
      summary: 'Your access keys',
      tag,
      permission: anyUser,
      record: keyRecord,
      list: async ({ caller }) => shortList(await keys.list(caller.id), present),
    }),
    defineOperation({
      method: 'POST',
      path,
      operationId: 'createAccessKey',
      summary: 'Make an access key',
      description: `The secret is in this answer and in no other. A user has at most ${maxAccessKeys} keys.`,
      tag,
      permission: anyUser,
      body: settings,
      answers: { 201: Type.Object({ ...keyFields, secret: Type.String() }) },
      handle: async (call) => {
        refuseWidening(call);
        // A stored answer would be a second copy of the secret.
        if (call.request.context.request.headers['idempotency-key'] !== undefined)
          throw newDetail(400, 'invalid', 'Credentials cannot be created with an Idempotency-Key.');
        const { ipGroup = [anyAddress], isActive = true } = settingsOf((await call.readBody()).done());
        const created = await keys.create(keyOwnerOf(call), { ipGroup, isActive });
        if (created === undefined) throw newTooManyKeys();
        return { ...present(created.key), secret: created.secret };
      },
    }),
    defineOperation({
      method: 'GET',
      operationId: 'getAccessKey',
      summary: 'One of your access keys',
      ...ofOne,
      handle: async ({ caller, params }) => {
        const key = await keys.find(caller.id, params['id']!);
        if (key === undefined) throw newAccessNotFound();
        return present(key);
      },
    }),
    changeOperation({ method: 'PATCH', operationId: 'patchAccessKey' }),
    changeOperation({
      method: 'PUT',
      operationId: 'updateAccessKey',
      description: 'As PATCH: what is left out stays as it is.',
    }),
    defineOperation({
      method: 'DELETE',
      operationId: 'deleteAccessKey',
      summary: 'Delete an access key',
      ...ofOne,
      answers: { 204: null },
      handle: async (call) => {
        if (!(await keys.delete(keyOwnerOf(call), call.params['id']!))) throw newAccessNotFound();
      },
    }),
  ];
}

export const newTooManyKeys = (): AccessError =>
  newFieldErrors({ non_field_errors: [`You have ${maxAccessKeys} access keys already; delete one first.`] });

/** A stolen key that is limited to some addresses must not be able to escape that limit. */
function refuseWidening({ caller }: Call): void {
  if (caller.isAddressLimited === true)
    throw newPermissionDenied('An access key that is limited to addresses makes no keys, and changes no addresses.');
}

/** The settings that the client sent. */
export const parseKeySettings = (fields: JsonObject): Partial<AccessKeySettings> =>
  settingsOf(CheckedFields.ofBody(settings, fields).done());

function settingsOf({ ip_group: ipGroup, is_active: isActive }: Static<typeof settings>): Partial<AccessKeySettings> {
  return { ...(ipGroup === undefined ? {} : { ipGroup }), ...(isActive === undefined ? {} : { isActive }) };
}

/** The caller, as owner of their own keys. */
export function keyOwnerOf(call: Call): KeyOwner {
  return { ...actorOf(call), actor: { id: call.caller.id, username: call.caller.username } };
}

function present({ id, ipGroup, isActive, dateCreated, dateLastUsed }: AccessKey): Static<typeof keyRecord> {
  return {
    id,
    ip_group: [...ipGroup],
    is_active: isActive,
    date_created: dateCreated.toISOString(),
    date_last_used: dateLastUsed?.toISOString() ?? null,
  };
}
