import { expressionBuilder, sql, type Expression, type SqlBool } from 'kysely';
import type { AccessDatabase } from '../access-database.ts';
import type { AccessTables } from '../access-tables.ts';
import { newPermissionDenied } from '../http/access-error.ts';
import { listAnswer } from '../http/list-answer.ts';
import type { AccessResponse, Call, UserOperation } from '../http/operation.ts';
import type { Organizations } from '../orgs/organizations.ts';
import { selectOrg } from '../orgs/select-org.ts';
import { holdsIn, isAuditor } from '../http/caller.ts';
import { auditDocuments } from './audit-documents.ts';
import { loginLogs, operateLogs } from './log-lists.ts';

const login = expressionBuilder<AccessTables, 'access.login_logs'>();
const operation = expressionBuilder<AccessTables, 'access.operate_logs'>();

export interface AuditOperationParts {
  database: AccessDatabase;
  organizations: Pick<Organizations, 'find'>;
}

const everything = sql.lit(true);

/**
 * What was done, for those who look after it: SystemAdmin and SystemAuditor see all, OrgAdmin and OrgAuditor what
 * concerns the selected organization; and everybody how they logged in themselves.
 */
export function auditOperations({ database, organizations }: AuditOperationParts): UserOperation[] {
  const { kysely } = database;
  const scopeOf = async (
    call: Call,
    ofOrganization: (id: string) => Expression<SqlBool>,
  ): Promise<Expression<SqlBool>> => {
    const { id } = await selectOrg(call, organizations);
    if (isAuditor(call.caller)) return everything;
    if (!holdsIn(call.caller, id, 'OrgAdmin', 'OrgAuditor')) throw newPermissionDenied();
    return ofOrganization(id);
  };
  const listLogins = async (call: Call): Promise<AccessResponse> =>
    listAnswer(call, loginLogs({ kysely, query: call.query, scope: await scopeOf(call, loginsOf) }));
  const listOperations = async (call: Call): Promise<AccessResponse> =>
    listAnswer(call, operateLogs({ kysely, query: call.query, scope: await scopeOf(call, operationsOf) }));
  const listOwn = async (call: Call): Promise<AccessResponse> =>
    listAnswer(call, loginLogs({ kysely, query: call.query, scope: login('user_id', '=', call.caller.id) }));
  return [
    {
      method: 'GET',
      path: '/api/v1/audits/login-logs/',
      operationId: 'listLoginLogs',
      access: 'user',
      document: auditDocuments.logins,
      handle: listLogins,
    },
    {
      method: 'GET',
      path: '/api/v1/audits/operate-logs/',
      operationId: 'listOperateLogs',
      access: 'user',
      document: auditDocuments.operations,
      handle: listOperations,
    },
    {
      method: 'GET',
      path: '/api/v1/audits/my-login-logs/',
      operationId: 'listMyLoginLogs',
      access: 'user',
      document: auditDocuments.own,
      handle: listOwn,
    },
  ];
}

/** Those of its members. */
const loginsOf = (id: string): Expression<SqlBool> =>
  login(
    'user_id',
    'in',
    login.selectFrom('access.org_role_bindings as m').select('m.user_id').where('m.org_id', '=', id),
  );
const operationsOf = (id: string): Expression<SqlBool> => operation('org_id', '=', id);
