import type { JsonSchema } from '#pkg/apimachinery/index';
import { objectSchema, type OperationDocument } from '../http/operation.ts';
import { listSchema, orderParameter, pageParameters } from '../records/list-documents.ts';
import { auditActions } from '../audit/audit.ts';
import { logOrders } from './log-lists.ts';

const text: JsonSchema = { type: 'string' };
const time: JsonSchema = { type: 'string', format: 'date-time' };
const optionalId: JsonSchema = { type: 'string', format: 'uuid', nullable: true };
const flag: JsonSchema = { type: 'boolean' };
const tag = 'Audit';

const loginSchema = objectSchema({
  id: text,
  username: { ...text, description: "As it was given; of a success, the user's own." },
  user_id: optionalId,
  type: { ...text, enum: ['api', 'web', 'basic'] },
  remote_addr: text,
  user_agent: text,
  is_success: flag,
  reason: { ...text, enum: ['', 'password_failed', 'block_login', 'user_inactive', 'user_expired'] },
  datetime: time,
});

const operationSchema = objectSchema({
  id: text,
  username: { ...text, description: 'Who did it; empty where nobody is known.' },
  user_id: optionalId,
  action: { ...text, enum: [...auditActions] },
  resource_type: text,
  resource: { ...text, description: 'Name or id of what it was done to.' },
  detail: text,
  remote_addr: text,
  org_id: optionalId,
  request_id: { ...text, description: "As in the answer's `X-Request-Id`." },
  datetime: time,
});

const parameter = (
  name: string,
  description: string,
  schema: JsonSchema = text,
): { name: string; description: string; schema: JsonSchema } => ({ name, description, schema });
const shared = [
  ...pageParameters,
  orderParameter(logOrders),
  parameter('date_from', 'Not before.', time),
  parameter('date_to', 'Not after.', time),
  parameter('username', 'With exactly this username.'),
  parameter('remote_addr', 'From this address.'),
];
const loginQuery = [
  ...shared,
  parameter('type', 'Of this kind.', loginSchema.properties!['type']),
  parameter('is_success', 'Let in, or not.', flag),
  parameter('status', 'Like `is_success`.', flag),
  parameter('reason', 'Refused for this reason.'),
];
const operationQuery = [
  ...shared,
  parameter('action', 'What was done.'),
  parameter('resource_type', 'To what kind of thing.'),
  parameter('resource', 'To which.'),
];

const readers = 'SystemAdmin and SystemAuditor see all; OrgAdmin and OrgAuditor';

export const auditDocuments = {
  logins: {
    summary: 'Logins, and failed ones',
    description: `The newest first. ${readers} those of the organization's members.`,
    tag,
    inOrganization: true,
    query: loginQuery,
    responses: { 200: listSchema(loginSchema) },
  },
  operations: {
    summary: 'What was changed, and credentials that were wrong',
    description: `The newest first. ${readers} what concerns the organization.`,
    tag,
    inOrganization: true,
    query: operationQuery,
    responses: { 200: listSchema(operationSchema) },
  },
  own: {
    summary: 'My logins',
    description: 'And those who tried to be me; the newest first.',
    tag,
    query: loginQuery,
    responses: { 200: listSchema(loginSchema) },
  },
} satisfies Record<string, OperationDocument>;
