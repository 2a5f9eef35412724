import { isStatusError, type Client } from '#pkg/apimachinery/index';
import { systemNamespace } from '#pkg/apis/index';
import { ignoreNotFound, leaseType } from '#pkg/runtime/index';

/**
 * Records in a Lease without a holder that a Plugin was deleted. While its folder exists, the host recreates the
 * object, disabled. The Lease exists from before the deletion until the object exists again, so that a restart does not
 * mistake the folder for a new one.
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
