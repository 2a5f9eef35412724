import { isStatusError, type OwnerReference, type Stored } from '#pkg/apimachinery/index';
import {
  clusterRoleBindingType,
  clusterRoleType,
  pluginType,
  pluginUser,
  rbacGroup,
  type Plugin,
} from '#pkg/apis/index';
import {
  controllerFor,
  enqueueOwner,
  generationChanged,
  TerminalError,
  type ControllerDefinition,
  type ReconcileContext,
} from '#pkg/runtime/index';
import { ensureBinding, ensureRole } from './ensure-role.ts';

/**
 * Gives each plugin's user the plugin's `spec.permissions`: a ClusterRole and a ClusterRoleBinding with the user's
 * name, owned by the Plugin. They also exist while the plugin does not run, because no other process can be that user.
 */
export function pluginRoles(): ControllerDefinition {
  const enqueuePlugin = enqueueOwner(pluginType, { onlyController: false });
  return controllerFor(pluginType)
    .named('plugin-roles')
    .withPredicate(generationChanged)
    .watches(clusterRoleType, enqueuePlugin)
    .watches(clusterRoleBindingType, enqueuePlugin)
    .reconcile(async (key, context) => {
      const plugin = context.lister(pluginType).get(key);
      // Foreground deletion waits for the roles: recreating one would block it for ever.
      if (plugin === undefined || plugin.metadata.deletionTimestamp !== undefined) return undefined;
      return ensurePluginRole(plugin, context);
    });
}

async function ensurePluginRole(
  plugin: Stored<Plugin>,
  { client, lister, events }: Pick<ReconcileContext, 'client' | 'lister' | 'events'>,
): Promise<void> {
  const name = pluginUser(plugin.metadata.name);
  const key = { namespace: '', name };
  const owner = ownerOf(plugin);
  const rules = (plugin.spec.permissions ?? []).map(({ apiGroups, resources, verbs, resourceNames }) => ({
    apiGroups,
    resources,
    verbs,
    ...(resourceNames === undefined ? {} : { resourceNames }),
  }));
  try {
    await ensureRole(client, lister(clusterRoleType).get(key), { name, owner, rules });
    await ensureBinding(client, lister(clusterRoleBindingType).get(key), {
      name,
      owner,
      subject: { kind: 'User', apiGroup: rbacGroup, name },
    });
  } catch (error) {
    if (!isStatusError(error, 'Invalid')) throw error;
    events.record(plugin, {
      type: 'Warning',
      reason: 'PermissionsInvalid',
      message: `it does not get what its permissions say: ${error.message}`,
    });
    throw new TerminalError(error.message, { cause: error });
  }
}

function ownerOf({ metadata: { name, uid } }: Stored<Plugin>): OwnerReference {
  const { group, version, kind } = pluginType;
  return { apiVersion: `${group}/${version}`, kind, name, uid };
}
