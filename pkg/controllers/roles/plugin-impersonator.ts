import {
  clusterRoleBindingType,
  clusterRoleType,
  pluginsGroup,
  pluginType,
  pluginUser,
  rbacGroup,
  type PolicyRule,
} from '#pkg/apis/index';
import { requestOf, type ControllerDefinition, type EventHandler, type ReconcileContext } from '#pkg/runtime/index';
import { once } from '../once-source.ts';
import { keepBinding, keepRole } from './keep-role.ts';

const name = 'system:plugin-impersonator';
const key = { namespace: '', name };
/** Those whose members run controllers, and plugins, in processes of their own. */
const controllerManagersGroup = 'system:controller-managers';

const enqueueIt: EventHandler = () => [key];
const enqueueIfIt: EventHandler = ({ object }) => (object.metadata.name === name ? [requestOf(object)] : []);

/**
 * Keeps the ClusterRole by which a controller-manager may act as each of the plugins there are, and as nobody else,
 * given to the group of all of them.
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
    begin: () => ({ sources: [once(key)], reconcile: (_request, context) => keepImpersonator(context) }),
  };
}

/** What it takes to act as these plugins. */
export function impersonationRules(plugins: readonly string[]): PolicyRule[] {
  // A rule without names is for all.
  if (plugins.length === 0) return [];
  const rule = (resource: string, resourceNames: string[]): PolicyRule => ({
    apiGroups: [''],
    resources: [resource],
    verbs: ['impersonate'],
    resourceNames,
  });
  return [rule('users', plugins.map(pluginUser).toSorted()), rule('groups', [pluginsGroup])];
}

async function keepImpersonator({ client, lister }: Pick<ReconcileContext, 'client' | 'lister'>): Promise<void> {
  const plugins = lister(pluginType)
    .list()
    .map(({ metadata }) => metadata.name);
  await keepRole(client, lister(clusterRoleType).get(key), { name, rules: impersonationRules(plugins) });
  await keepBinding(client, lister(clusterRoleBindingType).get(key), {
    name,
    subject: { kind: 'Group', apiGroup: rbacGroup, name: controllerManagersGroup },
  });
}
