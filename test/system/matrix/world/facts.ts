import type { Person } from '../model/person.ts';
import type { OrgNames } from '../model/org-choice.ts';
import type { RoleBook } from '../model/rbac.ts';

/** The records on the servers before the first cell, with the ids that the servers assigned. */
export interface Facts {
  readonly people: readonly Person[];
  /** User ids by username. */
  readonly userIds: ReadonlyMap<string, string>;
  readonly accessKeys: ReadonlyMap<string, string>;
  /** `a` and `b` have members, `empty` has none. */
  readonly orgs: { readonly a: string; readonly b: string; readonly empty: string };
  readonly orgNames: OrgNames;
  /** Members of one organization each, who send no requests. */
  readonly targets: { readonly inA: Person; readonly inB: Person };
  /** Ids of their bindings, and of one of a system role. */
  readonly bindings: { readonly inA: string; readonly inB: string; readonly system: string };
  /** Id of a session of `targets.inA`. */
  readonly sessionInA: string;
  readonly book: RoleBook;
  /** Whether a plugin with endpoints exists. */
  readonly hasPlugin: boolean;
}
