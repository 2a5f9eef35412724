import type { AccessDatabase, Queryable } from '../access-database.ts';
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
    await on.query({
      name: 'audit-login',
      text: 'INSERT INTO access.login_logs (username, user_id, type, remote_addr, user_agent, is_success, reason) VALUES ($1, $2, $3, $4, $5, $6, $7)',
      values: [printable(username, 150), userId ?? null, type, address, printable(userAgent, 254), isSuccess, reason],
    });
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
    await on.query({
      name: 'audit-operate',
      text: `INSERT INTO access.operate_logs (username, user_id, action, resource_type, resource, detail, remote_addr, org_id, request_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      values: [
        actor?.username ?? '',
        actor?.id ?? null,
        action,
        resourceType,
        printable(resource, 300),
        printable(detail, 1000),
        address,
        orgId ?? null,
        requestId,
      ],
    });
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
