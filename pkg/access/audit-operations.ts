import { sql, type RawBuilder } from 'kysely';
import type { AccessDatabase } from './access-database.ts';
import { isAuditor } from './http/caller.ts';
import { defineList } from './operations/define-operation.ts';
import type { Call, UserOperation } from './operations/operation.ts';
import { anyUser } from './operations/permission.ts';
import type { Organizations } from './orgs/organizations.ts';
import { inOrganization } from './orgs/select-org.ts';
import {
  loginLogFilters,
  loginLogRecord,
  loginLogs,
  operateLogFilters,
  operateLogRecord,
  operateLogs,
} from './audit/log-lists.ts';

export interface AuditOperationParts {
  database: AccessDatabase;
  organizations: Pick<Organizations, 'find'>;
}

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
    defineList({
      path: '/api/v1/audits/login-logs/',
      operationId: 'listLoginLogs',
      summary: 'Logins, and failed ones',
      description: `The newest first. ${readers} those of the organization's members.`,
      ...shared,
      record: loginLogRecord,
      query: loginLogFilters,
      list: (call, { id }) => loginLogs({ kysely, query: call.readQuery().done(), scope: scopeOf(call, loginsOf(id)) }),
    }),
    defineList({
      path: '/api/v1/audits/operate-logs/',
      operationId: 'listOperateLogs',
      summary: 'What was changed, and credentials that were wrong',
      description: `The newest first. ${readers} what concerns the organization.`,
      ...shared,
      record: operateLogRecord,
      query: operateLogFilters,
      list: (call, { id }) =>
        operateLogs({ kysely, query: call.readQuery().done(), scope: scopeOf(call, operationsOf(id)) }),
    }),
    defineList({
      path: '/api/v1/audits/my-login-logs/',
      operationId: 'listMyLoginLogs',
      summary: 'My logins',
      description: 'And those who tried to be me; the newest first.',
      tag,
      permission: anyUser,
      record: loginLogRecord,
      query: loginLogFilters,
      list: (call) =>
        loginLogs({ kysely, query: call.readQuery().done(), scope: sql`user_id = ${call.caller.id}::uuid` }),
    }),
  ];
}

const scopeOf = ({ caller }: Call, ofOrganization: RawBuilder<unknown>): RawBuilder<unknown> =>
  isAuditor(caller) ? sql`true` : ofOrganization;
/** Those of its members. */
const loginsOf = (id: string): RawBuilder<unknown> =>
  sql`user_id IN (SELECT m.user_id FROM access.org_role_bindings m WHERE m.org_id = ${id}::uuid)`;
const operationsOf = (id: string): RawBuilder<unknown> => sql`org_id = ${id}::uuid`;
