import { isStatusError, type Model, type StatusReason } from '#pkg/apimachinery/index';
import { clusterRoleBindingModel, clusterRoleModel, roleBindingModel, roleModel } from '#pkg/apis/index';
import type { ResourceStorage } from '../../rest/served-resource.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { systemWrite } from '../../rest/write-context.ts';
import { equalJson } from '../../schema/json-value.ts';
import { bootstrapBindings } from './bootstrap-bindings.ts';
import { autoUpdate, bindingObject, reconciled, roleObject } from './bootstrap-object.ts';
import { bootstrapRoles } from './bootstrap-roles.ts';

/** At one object, where others change it meanwhile. */
const maxAttempts = 10;

export interface BootstrapOptions {
  storageOf: (model: Model) => ResourceStorage;
  signal: AbortSignal;
}

/**
 * Sees to it that the roles and bindings that every server relies on are there: what is missing is made, or added to
 * what is there; what somebody added stays, and so does all of an object that is annotated
 * `rbac.authorization.kubernetes.io/autoupdate: "false"`. Safe from several replicas at once. Source:
 * k8s.io/component-helpers/auth/rbac/reconciliation.
 */
export async function ensureBootstrapRoles(options: BootstrapOptions): Promise<void> {
  // All at once: they go to the database in few statements.
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

async function ensure({ storageOf, signal }: BootstrapOptions, model: Model, wanted: JsonApiObject): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (await isEnsured(storageOf(model), wanted, signal)) return;
    } catch (error) {
      // Another replica is at it too.
      if (!passing.some((reason) => isStatusError(error, reason)) || attempt === maxAttempts) throw error;
    }
  }
}

const passing: readonly StatusReason[] = ['AlreadyExists', 'Conflict', 'NotFound'];

/** False: it is to be looked at again. */
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
    // The role of a binding never changes: it is made anew.
    await storage.delete({ key, preconditions: uid === undefined ? {} : { uid } }, systemWrite(signal));
    return false;
  }
  const object = reconciled(present, wanted);
  // Its revision is that of what it was made from, so nothing that was written since is lost.
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
