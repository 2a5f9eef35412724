export type SystemRole = 'SystemAdmin' | 'SystemAuditor' | 'SystemUser';
export type OrgRole = 'OrgAdmin' | 'OrgAuditor' | 'OrgUser';

/** A user as every request sees them anew: what they hold at this moment. */
export interface Principal {
  readonly id: string;
  readonly username: string;
  /** Their own, on the content platform. */
  readonly groups: readonly string[];
  readonly systemRoles: ReadonlySet<SystemRole>;
  /** By organization. */
  readonly orgRoles: ReadonlyMap<string, ReadonlySet<OrgRole>>;
}
