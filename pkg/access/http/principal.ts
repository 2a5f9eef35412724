export type SystemRole = 'SystemAdmin' | 'SystemAuditor' | 'SystemUser';
export type OrgRole = 'OrgAdmin' | 'OrgAuditor' | 'OrgUser';

/** A user with current roles; read again for every request. */
export interface Principal {
  readonly id: string;
  readonly username: string;
  /** The user's groups on the content platform. */
  readonly groups: readonly string[];
  readonly systemRoles: ReadonlySet<SystemRole>;
  /** Roles by organization id. */
  readonly orgRoles: ReadonlyMap<string, ReadonlySet<OrgRole>>;
}
