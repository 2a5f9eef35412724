import type { Model } from '#pkg/apimachinery/index';
import { definitionModel } from './apiextensions/definition-model.ts';
import { consolePageModel } from './console/console-page-model.ts';
import { savedViewModel } from './console/saved-view-model.ts';
import { formHintModel } from './console/form-hint-model.ts';
import { leaseModel } from './coordination/lease-model.ts';
import { configMapModel } from './core/config-map-model.ts';
import { eventModel } from './core/event-model.ts';
import { namespaceModel } from './core/namespace-model.ts';
import { resourceQuotaModel } from './core/resource-quota-model.ts';
import { secretModel } from './core/secret-model.ts';
import { pluginModel } from './plugin/plugin-model.ts';
import { clusterRoleBindingModel, roleBindingModel } from './rbac/role-binding-model.ts';
import { clusterRoleModel, roleModel } from './rbac/role-model.ts';

/** The models that every server has from its first start, one file per kind. */
export const builtinModels: readonly Model[] = [
  namespaceModel,
  configMapModel,
  eventModel,
  resourceQuotaModel,
  secretModel,
  leaseModel,
  definitionModel,
  pluginModel,
  savedViewModel,
  formHintModel,
  consolePageModel,
  clusterRoleModel,
  clusterRoleBindingModel,
  roleModel,
  roleBindingModel,
];
