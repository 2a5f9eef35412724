import { equalJson, isStatusError, type Model, type StatusReason } from '#pkg/apimachinery/index';
import { clusterRoleBindingModel, clusterRoleModel, roleBindingModel, roleModel } from '#pkg/apis/index';
import type { ResourceStorage } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { systemWrite } from '../../rest/write-context.ts';
import { bootstrapBindings } from './bootstrap-bindings.ts';
import { autoUpdate, bindingObject, reconciled, roleObject } from './bootstrap-object.ts';
import { bootstrapRoles } from './bootstrap-roles.ts';

/** Attempts per object, if others change it meanwhile. */
const maxAttempts = 10;

export interface EnsureBootstrapRolesOptions {
  storageOf: (model: Model) => ResourceStorage;
  signal: AbortSignal;
}

/**
 * Ensures that the roles and bindings that every server relies on exist: creates missing objects and adds missing
 * parts. Additions by users stay, and objects annotated `rbac.authorization.kubernetes.io/autoupdate: "false"` stay
 * unchanged. Several replicas may run it at once. Source: k8s.io/component-helpers/auth/rbac/reconciliation.
 */
export async function ensureBootstrapRoles(options: EnsureBootstrapRolesOptions): Promise<void> {
  // Concurrently: the database then gets few statements.
  await Promise.all([
    ...bootstrapRoles.map((role) =>
      ensure(options, role.namespace === undefined ? clusterRoleModel : roleModel, roleObject(role)),
    ),
    ...bootstrapBindings.map((binding) =>
      ensure(
        options,
        binding.namespace === undefined ? clusterRoleBindingModel : roleBindingModel,
        bindingObject(binding),
      ),
    ),
  ]);
}

async function ensure(
  { storageOf, signal }: EnsureBootstrapRolesOptions,
  model: Model,
  wanted: JsonApiObject,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (await isEnsured(storageOf(model), wanted, signal)) return;
    } catch (error) {
      // Another replica is doing the same.
      if (!transientReasons.some((reason) => isStatusError(error, reason)) || attempt === maxAttempts) throw error;
    }
  }
}

const transientReasons: readonly StatusReason[] = ['AlreadyExists', 'Conflict', 'NotFound'];

/** False if it must be checked again. */
async function isEnsured(storage: ResourceStorage, wanted: JsonApiObject, signal: AbortSignal): Promise<boolean> {
  const { name, namespace = '' } = wanted.metadata;
  const key = { namespace, name };
  const present = await find(storage, key);
  if (present === undefined) {
    await storage.create(namespace, structuredClone(wanted), systemWrite(signal));
    return true;
  }
  const { annotations, uid } = present.metadata;
  if (annotations?.[autoUpdate] === 'false') return true;
  if (!equalJson(present['roleRef'], wanted['roleRef'])) {
    // The role of a binding never changes, so the binding is recreated.
    await storage.delete({ key, preconditions: uid === undefined ? {} : { uid } }, systemWrite(signal));
    return false;
  }
  const object = reconciled(present, wanted);
  // Its revision is the one that was read, so no later write is lost.
  if (!equalJson(object, present))
    await storage.update(
      { key, subresource: '', preconditions: {}, transform: () => structuredClone(object) },
      systemWrite(signal),
    );
  return true;
}

async function find(
  storage: ResourceStorage,
  key: { namespace: string; name: string },
): Promise<JsonApiObject | undefined> {
  try {
    return JSON.parse((await storage.get(key)).text) as JsonApiObject;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}
