import { newForbidden, runInTurns, type GroupResource } from '#pkg/apimachinery/index';
import { rbacGroup, type PolicyRule } from '#pkg/apis/index';
import type { UserInfo } from '#pkg/identity/index';
import { describeRule, quotedList } from '../permissions.ts';
import type { RoleIndex } from '../role-index.ts';

/** Rules listed in one answer, and characters of each. */
const maxShown = 20;
const maxLength = 1000;

/** The object being written, and its writer. */
export interface EscalationSubject {
  user: UserInfo;
  resource: GroupResource;
  namespace: string;
  name: string;
  signal: AbortSignal;
}

/**
 * Refuses to grant rules that the writer does not hold.
 * @throws StatusError 403 that lists the rules the user does not hold. Source:
 * k8s.io/kubernetes/pkg/registry/rbac/validation ConfirmNoEscalation.
 */
export async function requireHeld(
  roles: RoleIndex,
  rules: readonly PolicyRule[],
  subject: EscalationSubject,
): Promise<void> {
  refuseMissing(
    await runInTurns(roles.findMissingRules(subject.user, rules, subject.namespace), { signal: subject.signal }),
    subject,
  );
}

/** @throws StatusError 403 if any rule is missing */
export function refuseMissing(missing: readonly PolicyRule[], { user, resource, name }: EscalationSubject): void {
  if (missing.length === 0) return;
  const lines = missing
    .slice(0, maxShown)
    .map((rule) => describeRule(rule).slice(0, maxLength))
    .toSorted();
  const more = missing.length > maxShown ? '\nand others' : '';
  const who = `user ${JSON.stringify(user.name)} (groups=${quotedList(user.groups)})`;
  throw newForbidden(
    resource,
    name,
    `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${more}`,
  );
}

/**
 * Whether the user has the verb on the role: with `escalate` or `bind` they need not hold its rules, and with `maintain`
 * not where the rules are those that the platform computes.
 */
export function hasEscalationVerb(
  roles: RoleIndex,
  verb: 'escalate' | 'bind' | 'maintain',
  { user, namespace, resource, name }: Pick<EscalationSubject, 'user' | 'namespace' | 'name'> & { resource: string },
): boolean {
  return roles.allows({
    user,
    verb,
    group: rbacGroup,
    version: 'v1',
    resource,
    subresource: '',
    namespace,
    name,
    isResourceRequest: true,
    path: '',
  });
}
