import {
  equalJson,
  groupResource,
  type JsonObject,
  type Model,
  newForbidden,
  newNotFound,
  runInTurns,
  type StatusCause,
} from '#pkg/apimachinery/index';
import {
  clusterRoleModel,
  defaultRoleBinding,
  roleModel,
  validateRoleBinding,
  type PolicyRule,
  type RoleRef,
} from '#pkg/apis/index';
import type { WriteContext } from '../../rest/write-context.ts';
import type { JsonApiObject, Strategy } from '../../rest/strategy.ts';
import type { RoleIndex } from '../role-index.ts';
import { isComputedBinding } from './computed-role.ts';
import { hasEscalationVerb, refuseMissing, type EscalationSubject } from './escalation-check.ts';
import { isPluginRole } from './platform-roles.ts';

export interface RoleBindingStrategyOptions {
  roles: RoleIndex;
  model: Model;
  /** Resolves when the writes of other replicas are known here. */
  catchUp: () => Promise<unknown>;
}

/**
 * RoleBindings and ClusterRoleBindings: a writer must hold all rules of the role where the binding grants them, or have
 * `bind` on the role. A missing role, and roles of plugins, whose rules change with them, require `bind`; to give a
 * plugin's own user its role `maintain` is enough. Source: k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased.
 */
export class RoleBindingStrategy implements Strategy {
  readonly #options: RoleBindingStrategyOptions;

  constructor(options: RoleBindingStrategyOptions) {
    this.#options = options;
  }

  prepareForCreate(object: JsonApiObject): void {
    defaultRoleBinding(object);
  }

  prepareForUpdate(object: JsonApiObject): void {
    defaultRoleBinding(object);
  }

  async validate(object: JsonApiObject, old: JsonApiObject | undefined): Promise<StatusCause[]> {
    return validateRoleBinding(object, { namespaced: this.#options.model.scope === 'Namespaced', old });
  }

  async authorize(
    object: JsonApiObject,
    old: JsonApiObject | undefined,
    { user, signal }: WriteContext,
  ): Promise<void> {
    const { roles, model } = this.#options;
    if (old !== undefined && equalJson(whatCounts(object), whatCounts(old))) return;
    const { name, namespace = '' } = object.metadata;
    const ref = object['roleRef'] as unknown as RoleRef;
    const refModel = ref.kind === 'Role' ? roleModel : clusterRoleModel;
    const target = { user, namespace, name: ref.name, resource: refModel.names.plural };
    if (hasEscalationVerb(roles, 'bind', target)) return;
    if (namespace === '' && isComputedBinding(object) && hasEscalationVerb(roles, 'maintain', target)) return;
    const subject: EscalationSubject = { user, resource: groupResource(model), namespace, name, signal };
    if (ref.kind === 'ClusterRole' && isPluginRole(ref.name))
      throw newForbidden(
        subject.resource,
        name,
        `what ${JSON.stringify(ref.name)} allows changes with plugins: giving it needs the right to bind it`,
      );
    const missing = await this.#missing(ref, subject);
    if (missing === undefined) throw newNotFound(groupResource(refModel), ref.name);
    refuseMissing(missing, subject);
  }

  /** Also finds a role that another replica has just written. */
  async #missing(ref: RoleRef, { user, namespace, signal }: EscalationSubject): Promise<PolicyRule[] | undefined> {
    const { roles, catchUp } = this.#options;
    const look = (): Promise<PolicyRule[] | undefined> =>
      runInTurns(roles.findMissingRulesOfRole(user, ref, namespace), { signal });
    const missing = await look();
    if (missing !== undefined && missing.length === 0) return missing;
    await catchUp();
    return look();
  }
}

function whatCounts({ roleRef = null, subjects = [] }: JsonApiObject): JsonObject {
  return { roleRef, subjects };
}
