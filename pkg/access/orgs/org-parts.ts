import type { AccessDatabase } from '../access-database.ts';
import type { Audit } from '../audit/audit.ts';
import type { NameClaims } from '../names/name-claims.ts';
import type { OrgNamespaces } from './org-namespaces.ts';
import type { Organizations } from './organizations.ts';

/** Dependencies of the operations on organizations. */
export interface OrgParts {
  database: AccessDatabase;
  audit: Audit;
  organizations: Organizations;
  names: Pick<NameClaims, 'prepare' | 'claim' | 'adoptAfterRelease'>;
  namespaces: OrgNamespaces;
}
