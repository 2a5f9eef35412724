import { runQuery, type Queryable } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import type { OpenCall } from '../operations/operation.ts';
import { FailedUseQuota } from './failed-use-quota.ts';

export interface LoginEntry {
  /** As it was given; of a success, the user's own. */
  username: string;
  userId?: string | undefined;
  /** `api`: for a Bearer token; `web`: on the login page; `basic`: to the content platform. */
  type: 'api' | 'web' | 'basic';
  address: string;
  userAgent: string;
  isSuccess: boolean;
  /** Of a failure: `password_failed`. */
  reason?: string;
}

/** What can be done to something. */
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

export interface OperateEntry {
  /** Undefined where nobody is known: a credential that was wrong; and of a command on the server. */
  actor: { id: string; username: string } | undefined;
  action: (typeof auditActions)[number];
  /**
   * `user`, `organization`, `access_key`, `bearer_token`, `session`, `private_token`, `personal_token`,
   * `system_role_binding`, `org_role_binding`.
   */
  resourceType: string;
  /** Name or id of what it was done to. */
  resource: string;
  /** For people: names of what changed. Never a secret. */
  detail?: string;
  address?: string;
  orgId?: string | undefined;
  requestId?: string;
}

/** One row for everything that is done to who may come in. */
export class Audit {
  readonly #database: AccessDatabase;
  readonly #failedUses = new FailedUseQuota();

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  async login(
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
   * `on` the transaction of the change itself, so that neither is there without the other. Of a flood of `failed_use`
   * only the first are kept.
   */
  async operate(
    { actor, action, resourceType, resource, detail = '', address = '', orgId, requestId = '' }: OperateEntry,
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
      org_id: orgId ?? null,
      request_id: requestId,
    };
    await runQuery(on, accessQuery.insertInto('access.operate_logs').values(row), 'audit-operate');
  }
}

/** Who asks, from where: what every entry of a call begins with. */
export function actorOf({ caller, request }: OpenCall): Pick<OperateEntry, 'actor' | 'address' | 'requestId'> {
  return {
    actor: caller === undefined ? undefined : { id: caller.id, username: caller.username },
    address: request.address,
    requestId: request.context.id,
  };
}

/** Without what a terminal or a database would not take. */
function printable(text: string, longest: number): string {
  return text.slice(0, longest).replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ');
}
