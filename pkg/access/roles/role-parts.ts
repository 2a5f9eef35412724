import type { AccessDatabase } from '../access-database.ts';
import type { Audit } from '../audit/audit.ts';
import type { Organizations } from '../orgs/organizations.ts';
import type { Users } from '../users/users.ts';

/** Dependencies of the operations on roles. */
export interface RoleParts {
  database: AccessDatabase;
  audit: Audit;
  users: Users;
  organizations: Organizations;
}
