import {
  clusterRoleBindingType,
  clusterRoleType,
  pluginsGroup,
  pluginType,
  pluginUser,
  rbacGroup,
  type PolicyRule,
} from '#pkg/apis/index';
import { systemControllers } from '#pkg/identity/index';
import { requestOf, type ControllerDefinition, type EventHandler, type ReconcileContext } from '#pkg/runtime/index';
import { onceSource } from '../once-source.ts';
import { ensureBinding, ensureRole } from './ensure-role.ts';

const name = 'system:plugin-impersonator';
const key = { namespace: '', name };

const enqueueIt: EventHandler = () => [key];
const enqueueIfIt: EventHandler = ({ object }) => (object.metadata.name === name ? [requestOf(object)] : []);

/**
 * Maintains the ClusterRole that lets a controller-manager impersonate the existing plugins and no other user, bound to
 * their group.
 */
export function pluginImpersonator(): ControllerDefinition {
  return {
    name: 'plugin-impersonator',
    watches: [
      { type: pluginType, selection: {}, handler: enqueueIt, predicates: [({ type }) => type !== 'update'] },
      { type: clusterRoleType, selection: {}, handler: enqueueIfIt, predicates: [] },
      { type: clusterRoleBindingType, selection: {}, handler: enqueueIfIt, predicates: [] },
    ],
    indexes: [],
    tuning: {},
    begin: () => ({ sources: [onceSource(key)], reconcile: (_request, context) => ensureImpersonator(context) }),
  };
}

/** The rules needed to impersonate these plugins. */
export function impersonationRules(plugins: readonly string[]): PolicyRule[] {
  // A rule without names would apply to all users.
  if (plugins.length === 0) return [];
  const rule = (resource: string, resourceNames: string[]): PolicyRule => ({
    apiGroups: [''],
    resources: [resource],
    verbs: ['impersonate'],
    resourceNames,
  });
  return [rule('users', plugins.map(pluginUser).toSorted()), rule('groups', [pluginsGroup])];
}

async function ensureImpersonator({ client, lister }: Pick<ReconcileContext, 'client' | 'lister'>): Promise<void> {
  const plugins = lister(pluginType)
    .list()
    .map(({ metadata }) => metadata.name);
  await ensureRole(client, lister(clusterRoleType).get(key), { name, rules: impersonationRules(plugins) });
  await ensureBinding(client, lister(clusterRoleBindingType).get(key), {
    name,
    subject: { kind: 'Group', apiGroup: rbacGroup, name: systemControllers },
  });
}
