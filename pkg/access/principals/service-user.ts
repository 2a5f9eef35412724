import { sql } from 'kysely';
import { systemAccessServers, systemControllers } from '#pkg/identity/index';

/** A program that works with the content platform as a user of its own: the command that starts it. */
export type Service = 'controller-manager' | 'access-server';

/** The user of a service. */
export interface ServiceUser {
  /** No person can have it, because their names hold no colon. */
  readonly username: string;
  readonly displayName: string;
  /** Its group on the content platform, to which the platform binds its role. */
  readonly group: string;
}

export const serviceUsers: Readonly<Record<Service, ServiceUser>> = {
  'controller-manager': {
    username: 'system:controller-manager',
    displayName: 'Controllers',
    group: systemControllers,
  },
  'access-server': { username: 'system:access-server', displayName: 'Access servers', group: systemAccessServers },
};

/** Whether this is the username of a service. */
export function isServiceName(username: string): boolean {
  return Object.values(serviceUsers).some((user) => user.username === username);
}

/** `source` of the user of a service. */
export const serviceSource = 'service';

/**
 * Condition on `access.users`: a person. Users of services are no part of the user API: they have no password and no
 * role, and only `ServiceTokens` gives them credentials.
 */
export const isPerson = sql<boolean>`source <> ${sql.lit(serviceSource)}`;
