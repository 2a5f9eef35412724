import { equalJson, groupResource } from '#pkg/apimachinery/index';
import { clusterRoleModel, pluginModel, type PolicyRule } from '#pkg/apis/index';
import type { WriteContext } from '../../rest/write-context.ts';
import type { JsonApiObject, Strategy } from '../../rest/strategy.ts';
import type { RoleIndex } from '../role-index.ts';
import { permissionsIn } from './computed-role.ts';
import { requireHeld, hasEscalationVerb } from './escalation-check.ts';

/**
 * Plugins: their permissions become the ClusterRole `system:plugin:<name>`, so a writer must hold them, or have
 * `escalate` on that role.
 */
export class PluginStrategy implements Strategy {
  readonly #roles: RoleIndex;

  constructor(roles: RoleIndex) {
    this.#roles = roles;
  }

  async authorize(
    object: JsonApiObject,
    old: JsonApiObject | undefined,
    { user, signal }: WriteContext,
  ): Promise<void> {
    const permissions = permissionsIn(object);
    if (equalJson(permissions, old === undefined ? [] : permissionsIn(old))) return;
    const { name } = object.metadata;
    if (
      hasEscalationVerb(this.#roles, 'escalate', {
        user,
        namespace: '',
        name: `system:plugin:${name}`,
        resource: clusterRoleModel.names.plural,
      })
    )
      return;
    await requireHeld(this.#roles, permissions as unknown as PolicyRule[], {
      user,
      resource: groupResource(pluginModel),
      namespace: '',
      name,
      signal,
    });
  }
}
