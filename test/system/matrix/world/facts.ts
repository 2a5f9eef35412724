import type { Person } from '../model/person.ts';
import type { OrgNames } from '../model/org-choice.ts';
import type { RoleBook } from '../model/rbac.ts';

/** What there is on the servers when the cells begin, by the names that the servers gave it. */
export interface Facts {
  readonly people: readonly Person[];
  /** Of users, by username. */
  readonly userIds: ReadonlyMap<string, string>;
  readonly accessKeys: ReadonlyMap<string, string>;
  /** `a` and `b` have members, `empty` has none. */
  readonly orgs: { readonly a: string; readonly b: string; readonly empty: string };
  readonly orgNames: OrgNames;
  /** Members of one organization each, who ask for nothing themselves. */
  readonly targets: { readonly inA: Person; readonly inB: Person };
  /** Ids of the bindings that make them so, and of one of a system role. */
  readonly bindings: { readonly inA: string; readonly inB: string; readonly system: string };
  /** Id of a session of `targets.inA`. */
  readonly sessionInA: string;
  readonly book: RoleBook;
  /** Are there endpoints of a plugin? */
  readonly hasPlugin: boolean;
}
