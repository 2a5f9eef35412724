import type { JsonSchema } from '#pkg/apimachinery/index';
import { objectSchema, type OperationDocument } from '../http/operation.ts';
import { listSchema, orderParameter, pageParameters } from '../records/list-documents.ts';
import { userOrders } from './list-users.ts';
import { revokeField } from './revoke-credentials.ts';

const text: JsonSchema = { type: 'string' };
const flag: JsonSchema = { type: 'boolean' };
const time: JsonSchema = { type: 'string', format: 'date-time' };
const optionalTime: JsonSchema = { ...time, nullable: true };
const id: JsonSchema = { type: 'string', format: 'uuid' };
const role = { id, name: text, display_name: text };
const word = (longest: number): JsonSchema => ({ type: 'string', minLength: 1, maxLength: longest });

export const userSchema = objectSchema({
  id,
  username: text,
  name: text,
  email: { ...text, nullable: true },
  is_active: flag,
  is_valid: { ...flag, description: 'Active and not expired.' },
  is_expired: flag,
  date_joined: time,
  date_expired: optionalTime,
  last_login: optionalTime,
  source: text,
  created_by: text,
  comment: text,
  mfa_enabled: flag,
  groups: { type: 'array', items: text, description: 'Groups on the content platform.' },
  system_roles: { type: 'array', items: objectSchema(role) },
  org_roles: {
    type: 'array',
    items: objectSchema({ ...role, org: { ...id, description: 'Where roles of all organizations are listed.' } }, [
      'id',
      'name',
      'display_name',
    ]),
    description: 'In the selected organization.',
  },
});

const changeable = {
  name: word(128),
  email: { ...word(254), format: 'email' },
  comment: { type: 'string', maxLength: 2000 },
} satisfies Record<string, JsonSchema>;

const administered: Record<string, JsonSchema> = {
  username: {
    ...word(128),
    description: 'No @, colon, slash, space or invisible character; unique in any case; never changed.',
  },
  ...changeable,
  is_active: flag,
  date_expired: optionalTime,
  password: { type: 'string', description: '8 to 256 characters, and none that everybody tries.' },
  groups: { type: 'array', items: text, description: 'By a system administrator only.' },
};

const revocation = (isDefault: boolean): Record<string, JsonSchema> => ({
  [revokeField]: {
    type: 'boolean',
    description: `With a new password: ends all personal tokens, access keys and the private token, too. ${isDefault ? 'True by default, of oneself false.' : 'False by default.'}`,
  },
});

const tag = 'Users';
const required = ['username', 'name', 'email'];
const changed = { ...administered, ...revocation(true) };

export const userDocuments = {
  list: {
    summary: 'Users of the organization',
    description:
      'For those with role SystemAdmin or SystemAuditor, and for OrgAdmin and OrgAuditor of the organization.',
    tag,
    inOrganization: true,
    query: [
      ...pageParameters,
      { name: 'search', description: 'Username, name or e-mail address contains it, in any case.', schema: text },
      { name: 'q', description: 'Like `search`.', schema: text },
      orderParameter(userOrders),
      { name: 'id', description: 'With this id.', schema: id },
      { name: 'username', description: 'With this username, in any case.', schema: text },
      { name: 'name', description: 'With exactly this name.', schema: text },
      { name: 'email', description: 'With this address, in any case.', schema: text },
      { name: 'is_active', description: 'Active, or not.', schema: flag },
    ],
    responses: { 200: listSchema(userSchema) },
  },
  create: {
    summary: 'Create a user',
    description:
      'A member of the organization, with OrgUser; in ROOT of none. For SystemAdmin and for OrgAdmin of the organization, to whom a name that may hold rights already, of a deleted user or in a binding of the content platform, is as taken.',
    tag,
    inOrganization: true,
    body: objectSchema(administered, required),
    responses: { 201: userSchema },
  },
  read: {
    summary: 'A user of the organization',
    description: 'By id or username.',
    tag,
    inOrganization: true,
    responses: { 200: userSchema },
  },
  replace: {
    summary: 'Change a user',
    description: 'For SystemAdmin. A new password ends sessions and Bearer tokens of the user.',
    tag,
    inOrganization: true,
    body: objectSchema(changed, required),
    responses: { 200: userSchema },
  },
  update: {
    summary: 'Change something of a user',
    description: 'For SystemAdmin.',
    tag,
    inOrganization: true,
    body: objectSchema(changed, []),
    responses: { 200: userSchema },
  },
  remove: {
    summary: 'Delete a user',
    description: 'For SystemAdmin; not oneself, and not the last administrator.',
    tag,
    inOrganization: true,
    responses: { 204: null },
  },
  unblock: {
    summary: 'Let a user log in again who failed too often',
    description: 'For SystemAdmin. Finds users of every organization, unless one is selected.',
    tag,
    inOrganization: true,
    responses: { 200: userSchema },
  },
  readProfile: {
    summary: 'Who I am',
    description: 'With the roles in every organization.',
    tag,
    responses: { 200: userSchema },
  },
  replaceProfile: {
    summary: 'Change my profile',
    tag,
    body: objectSchema(changeable, ['name', 'email']),
    responses: { 200: userSchema },
  },
  updateProfile: {
    summary: 'Change something of my profile',
    tag,
    body: objectSchema(changeable, []),
    responses: { 200: userSchema },
  },
  changePassword: {
    summary: 'Change my password',
    description: 'Ends all other sessions and all Bearer tokens. A wrong old password counts as a failed login.',
    tag,
    body: objectSchema({ old_password: text, new_password: text, new_password_again: text, ...revocation(false) }, [
      'old_password',
      'new_password',
      'new_password_again',
    ]),
    responses: { 200: userSchema },
  },
} satisfies Record<string, OperationDocument>;
