import type { OwnerReference } from '#pkg/apimachinery/index';
import { clusterRoleType, definitionType } from '#pkg/apis/index';
import { enqueueOwner, type ControllerDefinition, type ReconcileContext } from '#pkg/runtime/index';
import { deleteRole, isSameOwner, ensureRole, type WantedRole } from './ensure-role.ts';
import { ServedDefinitions, type ServedDefinition, type ServedDefinitionsOptions } from './served-definitions.ts';

const readVerbs = ['get', 'list', 'watch'];
const allVerbs = [...readVerbs, 'create', 'update', 'patch', 'delete', 'deletecollection'];

/**
 * Maintains ClusterRoles `<plural>.<group>:view` and `:manage` for each served definition, which `view` and `edit`
 * aggregate. The definition owns them; they are also deleted when it is no longer served.
 */
export function modelRoles(options: ServedDefinitionsOptions): ControllerDefinition {
  return {
    name: 'model-roles',
    watches: [
      {
        type: clusterRoleType,
        selection: {},
        handler: enqueueOwner(definitionType, { onlyController: false }),
        predicates: [],
      },
    ],
    indexes: [],
    tuning: { concurrency: 4 },
    begin: () => {
      const definitions = new ServedDefinitions(options);
      return {
        sources: [definitions],
        reconcile: ({ name }, context) => ensureModelRoles(name, definitions.get(name), context),
      };
    },
  };
}

/** The two roles of a definition. */
export function rolesOf(
  name: string,
  { uid, group, resources }: Pick<ServedDefinition, 'uid' | 'group' | 'resources'>,
): WantedRole[] {
  const role = (kind: 'view' | 'manage', aggregate: string, verbs: string[]): WantedRole => ({
    name: `${name}:${kind}`,
    labels: { [`rbac.authorization.k8s.io/aggregate-to-${aggregate}`]: 'true' },
    owner: { ...definitionNamed(name), uid },
    rules: [{ apiGroups: [group], resources, verbs }],
  });
  return [role('view', 'view', readVerbs), role('manage', 'edit', allVerbs)];
}

async function ensureModelRoles(
  name: string,
  definition: ServedDefinition | undefined,
  { client, lister }: Pick<ReconcileContext, 'client' | 'lister'>,
): Promise<void> {
  const roles = lister(clusterRoleType);
  if (definition === undefined) {
    const left = [`${name}:view`, `${name}:manage`].flatMap((role) => roles.get({ namespace: '', name: role }) ?? []);
    // A role that a user created stays.
    for (const role of left)
      if (role.metadata.ownerReferences?.some((owner) => isSameOwner(owner, definitionNamed(name))) === true)
        await deleteRole(client, clusterRoleType, role);
    return;
  }
  // Foreground deletion waits for the roles: recreating one would block it for ever.
  if (definition.isHeldByCollector) return;
  for (const role of rolesOf(name, definition))
    await ensureRole(client, roles.get({ namespace: '', name: role.name }), role);
}

function definitionNamed(name: string): Pick<OwnerReference, 'apiVersion' | 'kind' | 'name'> {
  const { group, version, kind } = definitionType;
  return { apiVersion: `${group}/${version}`, kind, name };
}
