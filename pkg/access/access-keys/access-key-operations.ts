import type { JsonObject, JsonSchema } from '#pkg/apimachinery/index';
import { actorOf } from '../audit/audit.ts';
import { newDetail, newFieldErrors, newAccessNotFound, newPermissionDenied } from '../http/access-error.ts';
import { listAnswer } from '../http/list-answer.ts';
import {
  jsonAnswer,
  noContent,
  objectSchema,
  type AccessResponse,
  type Call,
  type Operation,
} from '../http/operation.ts';
import { listSchema, pageParameters } from '../records/list-documents.ts';
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

const settings: Readonly<Record<string, JsonSchema>> = {
  ip_group: {
    type: 'array',
    items: { type: 'string' },
    default: [anyAddress],
    description: 'From where it may be used: *, addresses, ranges as 10.0.0.0/8 or 10.0.0.1-10.0.0.9.',
  },
  is_active: { type: 'boolean', default: true },
};
const keyFields: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string', format: 'uuid' },
  ...settings,
  date_created: { type: 'string', format: 'date-time' },
  date_last_used: { type: 'string', format: 'date-time', nullable: true },
};
const keySchema = objectSchema(keyFields);
const body = objectSchema(settings, []);

/** Each user's own access keys over HTTP; another's is 404, whoever asks. */
export function accessKeyOperations(keys: AccessKeys): Operation[] {
  const change = async (call: Call): Promise<AccessResponse> => {
    const changed = parseKeySettings(await call.request.fields());
    if (changed.ipGroup !== undefined) refuseWidening(call);
    const key = await keys.update(keyOwnerOf(call), call.params['id']!, changed);
    if (key === undefined) throw newAccessNotFound();
    return jsonAnswer(200, present(key));
  };
  const changed = { tag, body, responses: { 200: keySchema } };
  return [
    {
      method: 'GET',
      path,
      operationId: 'listAccessKeys',
      access: 'user',
      document: { summary: 'Your access keys', tag, query: pageParameters, responses: { 200: listSchema(keySchema) } },
      handle: (call) => listAnswer(call, sourceOf(keys, call.caller.id)),
    },
    {
      method: 'POST',
      path,
      operationId: 'createAccessKey',
      access: 'user',
      document: {
        summary: 'Make an access key',
        description: `The secret is in this answer and in no other. A user has at most ${maxAccessKeys} keys.`,
        tag,
        body,
        responses: { 201: objectSchema({ ...keyFields, secret: { type: 'string' } }) },
      },
      handle: (call) => create(keys, call),
    },
    {
      method: 'GET',
      path: `${path}{id}/`,
      operationId: 'getAccessKey',
      access: 'user',
      document: { summary: 'One of your access keys', tag, responses: { 200: keySchema } },
      handle: async ({ caller, params }) => {
        const key = await keys.find(caller.id, params['id']!);
        if (key === undefined) throw newAccessNotFound();
        return jsonAnswer(200, present(key));
      },
    },
    {
      method: 'PATCH',
      path: `${path}{id}/`,
      operationId: 'patchAccessKey',
      access: 'user',
      document: { summary: 'Change an access key', ...changed },
      handle: change,
    },
    {
      method: 'PUT',
      path: `${path}{id}/`,
      operationId: 'updateAccessKey',
      access: 'user',
      document: {
        summary: 'Change an access key',
        description: 'As PATCH: what is left out stays as it is.',
        ...changed,
      },
      handle: change,
    },
    {
      method: 'DELETE',
      path: `${path}{id}/`,
      operationId: 'deleteAccessKey',
      access: 'user',
      document: { summary: 'Delete an access key', tag, responses: { 204: null } },
      handle: async (call) => {
        if (!(await keys.delete(keyOwnerOf(call), call.params['id']!))) throw newAccessNotFound();
        return noContent;
      },
    },
  ];
}

/** Whoever has found a key that is of no use elsewhere is not to make one that is. */
function refuseWidening({ caller }: Call): void {
  if (caller.isAddressLimited === true)
    throw newPermissionDenied('An access key that is limited to addresses makes no keys, and changes no addresses.');
}

async function create(keys: AccessKeys, call: Call): Promise<AccessResponse> {
  refuseWidening(call);
  // An answer that is remembered would be a second place where the secret is.
  if (call.request.context.request.headers['idempotency-key'] !== undefined)
    throw newDetail(400, 'invalid', 'Credentials cannot be created with an Idempotency-Key.');
  const { ipGroup = [anyAddress], isActive = true } = parseKeySettings(await call.request.fields());
  const created = await keys.create(keyOwnerOf(call), { ipGroup, isActive });
  if (created === undefined)
    throw newFieldErrors({ non_field_errors: [`You have ${maxAccessKeys} access keys already; delete one first.`] });
  return jsonAnswer(201, { ...present(created.key), secret: created.secret });
}

function sourceOf(keys: AccessKeys, userId: string): Parameters<typeof listAnswer<AccessKey>>[1] {
  return {
    async *all() {
      yield await keys.list(userId);
    },
    page: async ({ limit, offset }) => {
      const rows = await keys.list(userId);
      return { count: rows.length, rows: rows.slice(offset, offset + limit) };
    },
    present,
  };
}

/** What was sent of them. Forms have texts only: the list's entries with commas between. */
export function parseKeySettings({ ip_group: ipGroup, is_active: isActive }: JsonObject): Partial<AccessKeySettings> {
  const entries = typeof ipGroup === 'string' ? ipGroup.split(/[\s,]+/).filter((entry) => entry !== '') : ipGroup;
  const active = isActive === 'true' ? true : isActive === 'false' ? false : isActive;
  if (entries !== undefined && !isIpGroup(entries)) {
    throw newFieldErrors({
      ip_group: [
        `A list of 1 to ${maxEntries} entries is expected: *, an address, a range as 10.0.0.0/8, or one as 10.0.0.1-10.0.0.9.`,
      ],
    });
  }
  if (active !== undefined && typeof active !== 'boolean')
    throw newFieldErrors({ is_active: ['true or false is expected.'] });
  return {
    ...(entries === undefined ? {} : { ipGroup: entries }),
    ...(active === undefined ? {} : { isActive: active }),
  };
}

function isIpGroup(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= maxEntries &&
    value.every((entry) => typeof entry === 'string' && isIpGroupEntry(entry))
  );
}

/** Who asks, about their own keys. */
export function keyOwnerOf(call: Call): KeyOwner {
  return { ...actorOf(call), actor: { id: call.caller.id, username: call.caller.username } };
}

function present({ id, ipGroup, isActive, dateCreated, dateLastUsed }: AccessKey): object {
  return {
    id,
    ip_group: ipGroup,
    is_active: isActive,
    date_created: dateCreated.toISOString(),
    date_last_used: dateLastUsed?.toISOString() ?? null,
  };
}
