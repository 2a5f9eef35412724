import type { Model } from '#pkg/apimachinery/index';
import {
  clusterRoleBindingModel,
  clusterRoleModel,
  leaseModel,
  pluginModel,
  roleBindingModel,
  roleModel,
} from '#pkg/apis/index';
import type { Strategy } from '../../rest/strategy.ts';
import type { RoleIndex } from '../role-index.ts';
import { LeaseStrategy } from './lease-strategy.ts';
import { PluginStrategy } from './plugin-strategy.ts';
import { RoleBindingStrategy } from './role-binding-strategy.ts';
import { RoleStrategy } from './role-strategy.ts';

/**
 * The strategies of all kinds through which a user could gain, or grant, permissions beyond their own. `catchUp`
 * resolves when `roles` knows the writes of other replicas.
 */
export function guardingStrategies(roles: RoleIndex, catchUp: () => Promise<unknown>): [Model, Strategy][] {
  return [
    [leaseModel, new LeaseStrategy(roles)],
    [pluginModel, new PluginStrategy(roles)],
    ...[roleModel, clusterRoleModel].map((model): [Model, Strategy] => [model, new RoleStrategy(roles, model)]),
    ...[roleBindingModel, clusterRoleBindingModel].map((model): [Model, Strategy] => [
      model,
      new RoleBindingStrategy({ roles, model, catchUp }),
    ]),
  ];
}
