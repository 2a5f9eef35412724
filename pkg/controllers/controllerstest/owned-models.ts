import {
  isStatusError,
  type AnyObject,
  type ApiObject,
  type Client,
  type ObjectKey,
  type OwnerReference,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { Manager, type Log } from '#pkg/runtime/index';
export { pollUntil } from '../../testenv/faults/poll-until.ts';
import type { TestEnv } from '../../testenv/start-test-env.ts';
import { builtinControllers } from '../builtin-controllers.ts';

export type Thing = ApiObject<{ title?: string }>;

const group = 'owned.example.com';
const typeOf = (kind: string, namespaced: boolean): ResourceType<Thing> => ({
  group,
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced,
  hasStatusSubresource: false,
});

/** Cluster-scoped. */
export const bossType = typeOf('Boss', false);
/** Namespaced, as workers are. */
export const teamType = typeOf('Team', true);
export const workerType = typeOf('Worker', true);
export const thingTypes = [bossType, teamType, workerType];

export const silentControllerLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Registers the three models; resolves when they are served. */
export async function defineThings(env: TestEnv, types: readonly ResourceType[] = thingTypes): Promise<void> {
  for (const type of types) {
    const answer = await env.request('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      method: 'POST',
      body: definitionOf(type),
    });
    if (answer.status !== 201) throw new Error(`the definition was refused: ${await answer.text()}`);
    for (const { client } of env.servers) await client.list(type);
  }
}

function definitionOf({ kind, plural, namespaced }: ResourceType): unknown {
  const openAPIV3Schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { title: { type: 'string' } } } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

export function newThing(type: ResourceType<Thing>, name: string, metadata: Partial<Thing['metadata']> = {}): Thing {
  return {
    apiVersion: `${group}/v1`,
    kind: type.kind,
    metadata: { ...(type.namespaced ? { namespace: 'default' } : {}), ...metadata, name },
  };
}

export function ownerReferenceTo(
  { apiVersion, kind, metadata: { name, uid } }: Stored<AnyObject>,
  blockOwnerDeletion = true,
): OwnerReference {
  return { apiVersion, kind, name, uid, blockOwnerDeletion };
}

export function keyOfObject({ metadata: { namespace = '', name } }: AnyObject): ObjectKey {
  return { namespace, name };
}

/** The stored object; undefined if it does not exist or was replaced by another of the same name. */
export async function getIfPresent<T extends AnyObject>(
  client: Client,
  type: ResourceType<T>,
  object: Stored<T>,
): Promise<Stored<T> | undefined> {
  try {
    const found = await client.get(type, keyOfObject(object));
    return found.metadata.uid === object.metadata.uid ? found : undefined;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Runs the built-in controllers; the returned function stops them. */
export function runControllers(client: Client, log: Log = silentControllerLog): () => Promise<void> {
  const manager = new Manager({ client, log, controllers: builtinControllers({ client, log }) });
  manager.start();
  return () => manager.stop();
}
