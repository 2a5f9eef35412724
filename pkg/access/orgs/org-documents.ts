import type { JsonSchema } from '#pkg/apimachinery/index';
import { objectSchema, type OperationDocument } from '../http/operation.ts';
import { listSchema, orderParameter, pageParameters } from '../records/list-documents.ts';
import { orgOrders } from './list-orgs.ts';

const text: JsonSchema = { type: 'string' };
const flag: JsonSchema = { type: 'boolean' };
const time: JsonSchema = { type: 'string', format: 'date-time' };
const id: JsonSchema = { type: 'string', format: 'uuid' };

const orgSchema = objectSchema({
  id,
  name: text,
  builtin: flag,
  is_root: flag,
  is_default: flag,
  comment: text,
  created_by: text,
  date_created: time,
  date_updated: time,
  namespace: { ...text, nullable: true, description: 'On the content platform; ROOT has none.' },
  namespace_ready: {
    ...flag,
    description: 'The namespace is there. While the content platform cannot be reached it comes later, by itself.',
  },
});

const fields: Record<string, JsonSchema> = {
  name: { type: 'string', minLength: 1, maxLength: 128, description: 'Unique in any case; no comma.' },
  comment: { type: 'string', maxLength: 2000 },
};

const tag = 'Organizations';
const found = { 200: orgSchema };
const description = 'For SystemAdmin. The built-in organizations stay as they are.';

export const orgDocuments = {
  list: {
    summary: 'Organizations I have a role in',
    description: 'For SystemAdmin and SystemAuditor: all of them.',
    tag,
    query: [
      ...pageParameters,
      { name: 'search', description: 'The name contains it, in any case.', schema: text },
      { name: 'q', description: 'Like `search`.', schema: text },
      orderParameter(orgOrders),
      { name: 'id', description: 'With this id.', schema: id },
      { name: 'name', description: 'With this name, in any case.', schema: text },
    ],
    responses: { 200: listSchema(orgSchema) },
  },
  create: {
    summary: 'Create an organization',
    description: 'For SystemAdmin. It is the namespace `org-<id>` of the content platform.',
    tag,
    body: objectSchema(fields, ['name']),
    responses: { 201: orgSchema },
  },
  current: { summary: 'The organization in which a call is made', tag, inOrganization: true, responses: found },
  read: { summary: 'An organization', description: 'By id or name.', tag, responses: found },
  replace: {
    summary: 'Change an organization',
    description,
    tag,
    body: objectSchema(fields, ['name']),
    responses: found,
  },
  update: {
    summary: 'Change something of an organization',
    description,
    tag,
    body: objectSchema(fields, []),
    responses: found,
  },
  remove: {
    summary: 'Delete an organization',
    description: 'For SystemAdmin. 409 while it has members, or its namespace holds objects.',
    tag,
    responses: { 204: null, 409: objectSchema({ detail: text, code: text }) },
  },
} satisfies Record<string, OperationDocument>;
