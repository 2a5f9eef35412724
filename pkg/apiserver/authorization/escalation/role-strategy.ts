import {
  equalJson,
  groupResource,
  type JsonObject,
  type Model,
  newForbidden,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { fullAuthority, validateRole, type PolicyRule } from '#pkg/apis/index';
import type { WriteContext } from '../../rest/write-context.ts';
import type { JsonApiObject, Strategy } from '../../rest/strategy.ts';
import type { RoleIndex } from '../role-index.ts';
import { changesOnlyAggregatedRules, hasComputedRules, type FindPluginPermissions } from './computed-role.ts';
import { requireHeld, hasEscalationVerb, type EscalationSubject } from './escalation-check.ts';
import { isPlatformRole } from './platform-roles.ts';

export interface RoleStrategyOptions {
  roles: RoleIndex;
  model: Model;
  permissionsOf: FindPluginPermissions;
}

/**
 * Roles and ClusterRoles: a writer must hold all of its rules, or have `escalate` on it. An aggregation rule, which may
 * collect any rules, requires full authority. Changes that do not affect permissions are allowed. ClusterRoles that the
 * platform writes require `escalate`, or `maintain`: with `maintain` a writer must hold their rules too, unless they are
 * what the platform computes. Source: k8s.io/kubernetes/pkg/registry/rbac/clusterrole/policybased.
 */
export class RoleStrategy implements Strategy {
  readonly #roles: RoleIndex;
  readonly #model: Model;
  readonly #permissionsOf: FindPluginPermissions;

  constructor({ roles, model, permissionsOf }: RoleStrategyOptions) {
    this.#roles = roles;
    this.#model = model;
    this.#permissionsOf = permissionsOf;
  }

  async validate(object: JsonApiObject): Promise<StatusCause[]> {
    return validateRole(object, { namespaced: this.#model.scope === 'Namespaced' });
  }

  async authorize(
    object: JsonApiObject,
    old: JsonApiObject | undefined,
    { user, signal }: WriteContext,
  ): Promise<void> {
    const namespaced = this.#model.scope === 'Namespaced';
    const { name, namespace = '' } = object.metadata;
    const isPlatforms = !namespaced && isPlatformRole(name);
    const isUnchanged =
      old !== undefined && equalJson(permissionFields(object, namespaced), permissionFields(old, namespaced));
    if (isUnchanged && !isPlatforms) return;
    const subject: EscalationSubject = { user, resource: groupResource(this.#model), namespace, name, signal };
    const has = (verb: 'escalate' | 'maintain'): boolean =>
      hasEscalationVerb(this.#roles, verb, {
        user,
        namespace,
        // For authorization, an object being created has no name.
        name: old === undefined ? '' : name,
        resource: this.#model.names.plural,
      });
    if (has('escalate')) return;
    if (!namespaced && has('maintain')) {
      if (isUnchanged || changesOnlyAggregatedRules(object, old)) return;
      if (isPlatforms && (await hasComputedRules(object, old, this.#permissionsOf))) return;
    } else if (isPlatforms)
      throw newForbidden(
        subject.resource,
        name,
        'it is a role that the platform writes: writing it needs the right to escalate it',
      );
    await requireHeld(this.#roles, rulesOf(object), subject);
    if (aggregates(object) || (old !== undefined && aggregates(old))) this.#checkFullAuthority(subject);
  }

  #checkFullAuthority({ user, resource, name }: EscalationSubject): void {
    if (this.#roles.missingRules(user, fullAuthority).length > 0)
      throw newForbidden(resource, name, 'must have cluster-admin privileges to use the aggregationRule');
  }
}

/** Labels count because aggregated roles select ClusterRoles by them. */
function permissionFields(
  { metadata, rules = [], aggregationRule = null }: JsonApiObject,
  namespaced: boolean,
): JsonObject {
  return { rules, aggregationRule, labels: namespaced ? {} : (metadata.labels ?? {}) };
}

function rulesOf({ rules }: JsonApiObject): PolicyRule[] {
  return (rules ?? []) as unknown as PolicyRule[];
}

function aggregates({ aggregationRule }: JsonApiObject): boolean {
  return aggregationRule !== undefined;
}
