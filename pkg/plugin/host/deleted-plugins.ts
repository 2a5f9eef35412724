import { isStatusError, type Client } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { ignoreNotFound, leaseType } from '#pkg/runtime/index';

/**
 * A Plugin that was deleted is made anew, disabled, as long as its folder is there. That it was, and this is no first
 * sight of the folder, outlives the process: a Lease that nobody holds says so from before the object goes until it is
 * there again.
 */
export async function rememberDeleted(client: Client, plugin: string): Promise<void> {
  try {
    await client.create(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: keyOf(plugin),
      spec: {},
    });
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error;
  }
}

export async function wasDeleted(client: Client, plugin: string): Promise<boolean> {
  return (await ignoreNotFound(client.get(leaseType, keyOf(plugin)))) !== undefined;
}

export async function forgetDeleted(client: Client, plugin: string): Promise<void> {
  await ignoreNotFound(client.delete(leaseType, keyOf(plugin)));
}

function keyOf(plugin: string): { namespace: string; name: string } {
  return { namespace: systemNamespace, name: `deleted-plugin-${plugin}` };
}
