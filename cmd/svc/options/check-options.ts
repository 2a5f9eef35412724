import { isIP } from 'node:net';
import { isPersonalToken } from '#pkg/identity/index';
import { OperatorError } from './operator-error.ts';
import type { Options } from './option-table.ts';

/** Checks combinations of options. @throws OperatorError */
export function checkOptions(options: Options): void {
  checkTokens(options);
  const maxWaitMs = options['svc.http.max-wait'];
  const timeoutMs = options['svc.api.request-timeout'];
  if (maxWaitMs >= timeoutMs) {
    throw new OperatorError(
      `svc.http.max-wait is ${maxWaitMs / 1000}s and svc.api.request-timeout ${timeoutMs / 1000}s: a request that waits so long would get 504 instead of 429; make max-wait shorter.`,
    );
  }
  checkReachability(options);
}

/** A server that other machines can reach needs an administrator's token that the operator has chosen. */
function checkReachability(options: Options): void {
  if (options['svc.security.initial-admin-token'] !== undefined) return;
  for (const name of ['svc.server.host', 'svc.server.tls.host'] as const) {
    const host = options[name];
    if (host === undefined || isLoopback(host)) continue;
    throw new OperatorError(
      `${name} is ${host}, which other machines can reach; set svc.security.initial-admin-token as well, or listen on 127.0.0.1.`,
    );
  }
}

const tokenOptions = {
  'svc.security.initial-admin-token': 'have one generated',
  'svc.security.controller-manager-token': 'add none',
  'svc.security.access-server-token': 'add none',
} as const;

/**
 * Checked before anything is written: an unusable token must not become the administrator's, or a service's. Throws
 * OperatorError, which does not contain the token.
 */
export function checkTokens(options: Options): void {
  for (const [name, withoutIt] of Object.entries(tokenOptions) as [keyof typeof tokenOptions, string][]) {
    const token = options[name];
    if (token === undefined || isPersonalToken(token)) continue;
    throw new OperatorError(
      `${name} is not a personal token: that is pat_, 30 letters or digits, and their checksum; leave the option empty to ${withoutIt}.`,
    );
  }
}

/** `svc apiserver` and `svc access-server` do not start an embedded PostgreSQL. */
export function checkDatabaseUrl(options: Options, verb: 'apiserver' | 'access-server'): void {
  if (options['svc.database.url'] === undefined) {
    throw new OperatorError(`svc ${verb} has no embedded PostgreSQL; set svc.database.url, or use svc serve.`);
  }
}

export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1' || /^::ffff:127\.\d+\.\d+\.\d+$/i.test(host);
}
