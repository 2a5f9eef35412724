import { expressionBuilder, sql, type Expression, type SqlBool } from 'kysely';
import type { AccessDatabase } from './access-database.ts';
import type { AccessTables } from './access-tables.ts';
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

const login = expressionBuilder<AccessTables, 'access.login_logs'>();
const operation = expressionBuilder<AccessTables, 'access.operate_logs'>();

const tag = 'Audit';
const readers = 'SystemAdmin and SystemAuditor see all; OrgAdmin and OrgAuditor';

/**
 * The audit logs. SystemAdmin and SystemAuditor read all entries, OrgAdmin and OrgAuditor those of the selected
 * organization, every user their own logins.
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
        loginLogs({ kysely, query: call.readQuery().done(), scope: login('user_id', '=', call.caller.id) }),
    }),
  ];
}

const scopeOf = ({ caller }: Call, ofOrganization: Expression<SqlBool>): Expression<SqlBool> =>
  isAuditor(caller) ? sql.lit(true) : ofOrganization;
/** Logins of the organization's members. */
const loginsOf = (id: string): Expression<SqlBool> =>
  login(
    'user_id',
    'in',
    login.selectFrom('access.org_role_bindings as m').select('m.user_id').where('m.org_id', '=', id),
  );
const operationsOf = (id: string): Expression<SqlBool> => operation('org_id', '=', id);
