import { defaultOrgId, hasOrgRole, hasSystemRole, orgsOf, rootOrgId, type Person } from './person.ts';
import { refuse, type Verdict } from './verdict.ts';

/** How a request to the access service names its organization. */
export interface OrgChoice {
  readonly name: string;
  /** As sent; contract: `oid` wins, then the header, then the cookie. */
  readonly oid?: string | readonly string[];
  readonly header?: string | readonly string[];
  readonly cookie?: string;
}

/** Names and ids of the existing organizations. */
export type OrgNames = ReadonlyMap<string, string>;

/**
 * The result of a choice for a user: an organization in which they have a role, or the refusal. Contract access-api.md,
 * section 5.
 */
export function choose(choice: OrgChoice, person: Person, names: OrgNames): string | Verdict {
  const given = choice.oid ?? choice.header ?? choice.cookie;
  if (Array.isArray(given) || (typeof given === 'string' && given.includes(',')))
    return refuse(400, 'two organizations at once');
  const own = orgsOf(person);
  const org =
    given === undefined ? (own.length === 1 ? own[0]! : defaultOrgId) : names.get(String(given).toLowerCase());
  if (org === undefined) return refuse(404, 'no such organization', 'org_not_found');
  if (hasSystemRole(person, 'SystemAdmin', 'SystemAuditor')) return org;
  if (org === rootOrgId) return refuse(403, 'ROOT needs a system role');
  return hasOrgRole(person, org) ? org : refuse(403, 'no role in this organization');
}
