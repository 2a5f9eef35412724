import { sql, type RawBuilder } from 'kysely';
import { Type } from 'typebox';
import type { AccessDatabase } from '../access-database.ts';
import { auditActions } from '../audit/audit.ts';
import { isAuditor } from '../http/caller.ts';
import { defineOperation } from '../operations/define-operation.ts';
import { nullable, oneOf, timestamp, uuid } from '../operations/field-schemas.ts';
import { listAnswer } from '../operations/list-answer.ts';
import { listOf } from '../operations/list-operation.ts';
import type { Call, UserOperation } from '../operations/operation.ts';
import { anyUser } from '../operations/permission.ts';
import type { Organizations } from '../orgs/organizations.ts';
import { inOrganization } from '../orgs/select-org.ts';
import { loginLogFilters, loginLogs, operateLogFilters, operateLogs } from './log-lists.ts';

export interface AuditOperationParts {
  database: AccessDatabase;
  organizations: Pick<Organizations, 'find'>;
}

const loginLogRecord = Type.Object({
  id: Type.String(),
  username: Type.String({ description: "As it was given; of a success, the user's own." }),
  user_id: nullable(uuid()),
  type: oneOf(['api', 'web', 'basic']),
  remote_addr: Type.String(),
  user_agent: Type.String(),
  is_success: Type.Boolean(),
  reason: oneOf(['', 'password_failed', 'block_login', 'user_inactive', 'user_expired']),
  datetime: timestamp(),
});

const operateLogRecord = Type.Object({
  id: Type.String(),
  username: Type.String({ description: 'Who did it; empty where nobody is known.' }),
  user_id: nullable(uuid()),
  action: oneOf(auditActions),
  resource_type: Type.String(),
  resource: Type.String({ description: 'Name or id of what it was done to.' }),
  detail: Type.String(),
  remote_addr: Type.String(),
  org_id: nullable(uuid()),
  request_id: Type.String({ description: "As in the answer's `X-Request-Id`." }),
  datetime: timestamp(),
});

const tag = 'Audit';
const readers = 'SystemAdmin and SystemAuditor see all; OrgAdmin and OrgAuditor';

/**
 * What was done, for those who look after it: SystemAdmin and SystemAuditor see all, OrgAdmin and OrgAuditor what
 * concerns the selected organization; and everybody how they logged in themselves.
 */
export function auditOperations({ database, organizations }: AuditOperationParts): UserOperation[] {
  const { kysely } = database;
  const shared = { tag, inOrganization: true, permission: inOrganization(organizations, 'OrgAdmin', 'OrgAuditor') };
  return [
    defineOperation({
      method: 'GET',
      path: '/api/v1/audits/login-logs/',
      operationId: 'listLoginLogs',
      summary: 'Logins, and failed ones',
      description: `The newest first. ${readers} those of the organization's members.`,
      ...shared,
      ...listOf(loginLogRecord, loginLogFilters),
      handle: async (call, { id }) =>
        listAnswer(call, loginLogs({ kysely, query: call.readQuery().done(), scope: scopeOf(call, loginsOf(id)) })),
    }),
    defineOperation({
      method: 'GET',
      path: '/api/v1/audits/operate-logs/',
      operationId: 'listOperateLogs',
      summary: 'What was changed, and credentials that were wrong',
      description: `The newest first. ${readers} what concerns the organization.`,
      ...shared,
      ...listOf(operateLogRecord, operateLogFilters),
      handle: async (call, { id }) =>
        listAnswer(
          call,
          operateLogs({ kysely, query: call.readQuery().done(), scope: scopeOf(call, operationsOf(id)) }),
        ),
    }),
    defineOperation({
      method: 'GET',
      path: '/api/v1/audits/my-login-logs/',
      operationId: 'listMyLoginLogs',
      summary: 'My logins',
      description: 'And those who tried to be me; the newest first.',
      tag,
      permission: anyUser,
      ...listOf(loginLogRecord, loginLogFilters),
      handle: async (call) => {
        const scope = sql`user_id = ${call.caller.id}::uuid`;
        return listAnswer(call, loginLogs({ kysely, query: call.readQuery().done(), scope }));
      },
    }),
  ];
}

const scopeOf = ({ caller }: Call, ofOrganization: RawBuilder<unknown>): RawBuilder<unknown> =>
  isAuditor(caller) ? sql`true` : ofOrganization;
/** Those of its members. */
const loginsOf = (id: string): RawBuilder<unknown> =>
  sql`user_id IN (SELECT m.user_id FROM access.org_role_bindings m WHERE m.org_id = ${id}::uuid)`;
const operationsOf = (id: string): RawBuilder<unknown> => sql`org_id = ${id}::uuid`;
