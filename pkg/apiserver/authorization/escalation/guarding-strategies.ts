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
import type { FindPluginPermissions } from './computed-role.ts';
import { LeaseStrategy } from './lease-strategy.ts';
import { PluginStrategy } from './plugin-strategy.ts';
import { RoleBindingStrategy } from './role-binding-strategy.ts';
import { RoleStrategy } from './role-strategy.ts';

export interface GuardingStrategiesOptions {
  roles: RoleIndex;
  catchUp: () => Promise<unknown>;
  permissionsOf: FindPluginPermissions;
}

/**
 * The strategies of all kinds through which a user could gain, or grant, permissions beyond their own. `catchUp`
 * resolves when `roles` knows the writes of other replicas; `permissionsOf` reads the store.
 */
export function guardingStrategies({ roles, catchUp, permissionsOf }: GuardingStrategiesOptions): [Model, Strategy][] {
  return [
    [leaseModel, new LeaseStrategy(roles)],
    [pluginModel, new PluginStrategy(roles)],
    ...[roleModel, clusterRoleModel].map((model): [Model, Strategy] => [
      model,
      new RoleStrategy({ roles, model, permissionsOf }),
    ]),
    ...[roleBindingModel, clusterRoleBindingModel].map((model): [Model, Strategy] => [
      model,
      new RoleBindingStrategy({ roles, model, catchUp }),
    ]),
  ];
}
