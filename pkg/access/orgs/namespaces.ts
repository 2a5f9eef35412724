import type { Organization } from './organization.ts';

/**
 * Namespaces of organizations on the content platform, which whoever starts the program can reach. Answers within
 * seconds, or rejects.
 */
export interface Namespaces {
  /**
   * Sees to it that the namespace is there, with the name of the organization, and in it the bindings of its roles, as
   * they should be; again and again makes no difference. Rejects while an earlier one of that name is still being
   * emptied.
   */
  ensure(organization: Pick<Organization, 'id' | 'name'>): Promise<void>;
  /**
   * `in use`: it holds objects besides those of `ensure`, and stays. A namespace that is not there counts as removed.
   */
  remove(organization: Pick<Organization, 'id'>): Promise<'removed' | 'in use'>;
}
