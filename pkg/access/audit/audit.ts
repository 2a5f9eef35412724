import { runQuery, type Queryable } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import type { OpenCall } from '../operations/operation.ts';
import { FailedUseQuota } from './failed-use-quota.ts';

export interface LoginEntry {
  /** As the client sent it; after a success, the user's username. */
  username: string;
  userId?: string | undefined;
  /**
   * `api`: for a Bearer token; `web`: on the login page; `basic`: to the content platform. Of a wrong old password at
   * its change: `web` in a session, else `api`.
   */
  type: 'api' | 'web' | 'basic';
  address: string;
  userAgent: string;
  isSuccess: boolean;
  /** Only of a failure, for example `password_failed`. */
  reason?: string;
}

/** Actions on a resource. */
export const auditActions = [
  'create',
  'update',
  'delete',
  'revoke',
  'restore',
  'rotate',
  'show',
  'unblock',
  'failed_use',
  'change_password',
] as const;

export interface OperationEntry {
  /** Undefined if the user is unknown (a wrong credential), and for a command on the server. */
  actor: { id: string; username: string } | undefined;
  action: (typeof auditActions)[number];
  /**
   * `user`, `organization`, `access_key`, `bearer_token`, `session`, `private_token`, `personal_token`,
   * `system_role_binding`, `org_role_binding`.
   */
  resourceType: string;
  /** Name or id of the changed resource. */
  resource: string;
  /** Human-readable: names of the changed fields. Never a secret. */
  detail?: string;
  address?: string;
  /** The actor's, as `formatCredentialId` has it. */
  credentialId?: string;
  orgId?: string | undefined;
  requestId?: string;
}

/** Writes audit rows: logins, changes of users, organizations, roles and credentials, and failed uses. */
export class Audit {
  readonly #database: AccessDatabase;
  readonly #failedUses: FailedUseQuota;

  /** `processes`: see `FailedUseQuota`. */
  constructor(database: AccessDatabase, { processes = 1 }: { processes?: number } = {}) {
    this.#database = database;
    this.#failedUses = new FailedUseQuota({ processes });
  }

  async recordLogin(
    { username, userId, type, address, userAgent, isSuccess, reason = '' }: LoginEntry,
    on: Queryable = this.#database.pool,
  ): Promise<void> {
    const row = {
      username: printable(username, 150),
      user_id: userId ?? null,
      type,
      remote_addr: address,
      user_agent: printable(userAgent, 254),
      is_success: isSuccess,
      reason,
    };
    await runQuery(on, accessQuery.insertInto('access.login_logs').values(row), 'audit-login');
  }

  /**
   * Pass the transaction of the change as `on`, so that both commit or neither. Of many `failed_use` entries only the
   * first are written.
   */
  async recordOperation(
    {
      actor,
      action,
      resourceType,
      resource,
      detail = '',
      address = '',
      credentialId = '',
      orgId,
      requestId = '',
    }: OperationEntry,
    on: Queryable = this.#database.pool,
  ): Promise<void> {
    if (action === 'failed_use' && !this.#failedUses.take(address)) return;
    const row = {
      username: actor?.username ?? '',
      user_id: actor?.id ?? null,
      action,
      resource_type: resourceType,
      resource: printable(resource, 300),
      detail: printable(detail, 1000),
      remote_addr: address,
      credential_id: credentialId,
      org_id: orgId ?? null,
      request_id: requestId,
    };
    await runQuery(on, accessQuery.insertInto('access.operate_logs').values(row), 'audit-operate');
  }
}

/** The caller, their credential and address, for an entry of this call. */
export function actorOf({
  caller,
  request,
}: OpenCall): Pick<OperationEntry, 'actor' | 'credentialId' | 'address' | 'requestId'> {
  return {
    actor: caller === undefined ? undefined : { id: caller.id, username: caller.username },
    ...(caller === undefined ? {} : { credentialId: caller.credentialId }),
    address: request.address,
    requestId: request.context.id,
  };
}

/** Replaces characters that a terminal or PostgreSQL does not accept. */
function printable(text: string, longest: number): string {
  return text.slice(0, longest).replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ');
}
