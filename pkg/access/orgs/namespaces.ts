import type { Organization } from './organization.ts';

/**
 * Namespaces of organizations on the content platform; the program's entry point implements it. Answers within seconds,
 * or rejects.
 */
export interface Namespaces {
  /**
   * Ensures that the namespace exists, with the organization's name and the bindings of its roles. Idempotent. Rejects
   * while an earlier namespace of that name is being deleted.
   */
  ensure(organization: Pick<Organization, 'id' | 'name'>): Promise<void>;
  /** `in use`: it holds other objects than those of `ensure`, and stays. A missing namespace counts as removed. */
  remove(organization: Pick<Organization, 'id'>): Promise<'removed' | 'in use'>;
}
