import type { Logger } from 'pino';
import {
  AccessService,
  Audit,
  ensureAdministrator,
  InitialPasswordError,
  maxLoginAttempts,
  PasswordHasher,
  ServiceTokenError,
  ServiceTokens,
  serviceUsers,
  type AccessDatabase,
  type AccessSettings,
  type BindingSubjectCheck,
  type KeyRing,
  type Service,
  type TokenRoles,
} from '#pkg/access/index';
import type { Client } from '#pkg/apimachinery/index';
import { anonymousShare, TrustedProxies } from '#pkg/http/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import { PlatformNamespaces } from './platform-namespaces.ts';
import { svcVersion } from '../process/svc-version.ts';
import type { Teardown } from '../process/teardown.ts';
import type { WorkerContext } from './worker-context.ts';

export interface OpenAccessParts {
  /** Schema `access` must be up to date. */
  database: AccessDatabase;
  keys: KeyRing;
  log: Logger;
  teardown: Teardown;
  /** A client with all permissions; closed after this teardown. */
  client: Client;
  roles: TokenRoles;
  isNamedByBinding: BindingSubjectCheck;
  /** If this is one of several workers. */
  worker?: WorkerContext | undefined;
}

/** Opens and starts access management on the configured database. */
export function openAccess(
  options: Options,
  { database, keys, log, teardown, client, roles, isNamedByBinding, worker }: OpenAccessParts,
): AccessService {
  const access = new AccessService({
    database,
    log,
    svcVersion: svcVersion(),
    settings: settingsOf(options, worker),
    keys,
    proxies: new TrustedProxies(options['svc.http.trusted-proxies']),
    platform: {
      namespaces: new PlatformNamespaces(client, options['svc.access.organization-quota']),
      roles,
      isNamedByBinding,
    },
  });
  teardown.add('access', () => access.stop());
  access.start();
  return access;
}

/** Creates the first administrator. Returns the path of the token file. @throws OperatorError */
export async function prepareAdministrator(
  options: Options,
  { database, log }: Pick<OpenAccessParts, 'database' | 'log'>,
): Promise<string> {
  try {
    const { tokenFile } = await ensureAdministrator({
      database,
      hasher: new PasswordHasher(),
      audit: new Audit(database),
      dataDir: options['svc.data.dir'],
      initialPassword: options['svc.security.initial-admin-password'],
      initialToken: options['svc.security.initial-admin-token'],
      log,
    });
    return tokenFile;
  } catch (error) {
    throw error instanceof InitialPasswordError ? new OperatorError(error.message, { cause: error }) : error;
  }
}

/**
 * Adds the tokens of the options to the users of services. One that was revoked stays so, which the log says, as it says
 * of one that is another user's.
 */
export async function addServiceTokens(
  options: Options,
  { database, log }: Pick<OpenAccessParts, 'database' | 'log'>,
): Promise<void> {
  const tokens = new ServiceTokens({ database, audit: new Audit(database) });
  for (const service of Object.keys(serviceUsers) as Service[]) {
    const option = `svc.security.${service}-token` as const;
    const token = options[option];
    if (token === undefined) continue;
    try {
      await tokens.add(service, token);
    } catch (error) {
      if (!(error instanceof ServiceTokenError)) throw error;
      log.warn({ option, reason: error.message }, 'did not add the token');
    }
  }
}

function settingsOf(options: Options, worker: WorkerContext | undefined): AccessSettings {
  return {
    tokenTtlMs: options['svc.access.token.ttl'],
    sessionIdleMs: options['svc.access.session.idle'],
    loginIpLimit: options['svc.access.login.ip-limit'],
    maxLogins: maxLoginsOf(options, worker?.of ?? 1),
    tokenConnections: worker?.connections.tokens,
    processes: worker?.of,
    signatureSkewMs: options['svc.access.signature.max-skew'],
    signatureRequiresDigest: options['svc.access.signature.require-digest'] === 'unsafe',
    throttle: { anonymous: options['svc.access.throttle.anonymous'], user: options['svc.access.throttle.user'] },
    auditRetentionDays: options['svc.access.audit.retention-days'],
    publicUrl: options['svc.access.public-url'],
    allowedOrigins: options['svc.http.cors.allowed-origins'],
  };
}

/** Half of what anonymous clients may have under way, so that wrong logins leave room for other visitors. */
function maxLoginsOf(options: Options, workers: number): number {
  const total = options['svc.http.max-in-flight'];
  const most = Math.ceil(maxLoginAttempts / workers);
  return total === 0 ? most : Math.max(1, Math.min(most, Math.floor(anonymousShare(total) / 2)));
}
