import {
  formatTimestamp,
  isFenceLost,
  isStatusError,
  namespaceFinalizer,
  type Client,
  type Stored,
  type ApiObject,
  type Condition,
  type ResourceType,
} from '#pkg/apimachinery/index';
import {
  enqueueObject,
  hasFinalizer,
  ignoreNotFound,
  removeFinalizer,
  writeChanges,
  type ControllerDefinition,
  type Log,
  type ReconcileContext,
  type ReconcileResult,
} from '#pkg/runtime/index';
import { ServedTypes } from '../served-types/served-types.ts';
import { emptyNamespace, type NamespaceRemains } from './empty-namespace.ts';
import { namespaceConditions } from './namespace-conditions.ts';

/** A large namespace takes long. Milliseconds. */
const timeoutMs = 600_000;
/** Pause between checks of a namespace whose content waits for others; grows with the wait. Milliseconds. */
const pause = { shortest: 500, longest: 15_000 };

export interface NamespaceControllerOptions {
  /** Must not read from a cache. */
  client: Client;
  log: Log;
}

/** Empties deleted namespaces, reports what remains, and removes their finalizer. */
export function namespaceController(options: NamespaceControllerOptions): ControllerDefinition {
  return {
    name: 'namespaces',
    watches: [
      {
        type: namespaceType,
        selection: { fieldSelector: 'metadata.deletionTimestamp' },
        handler: enqueueObject,
        predicates: [({ type }) => type !== 'delete'],
      },
    ],
    indexes: [],
    tuning: { concurrency: 4, timeoutMs },
    begin: () => {
      const types = new ServedTypes(options);
      return {
        sources: [types],
        reconcile: ({ name }, context) => terminate(name, { reader: options.client, types, context }),
      };
    },
  };
}

interface Terminating {
  reader: Client;
  types: ServedTypes;
  context: Pick<ReconcileContext, 'client' | 'signal'>;
}

async function terminate(name: string, { reader, types, context }: Terminating): Promise<ReconcileResult> {
  const { client, signal } = context;
  const read = (): Promise<Stored<Namespace> | undefined> =>
    ignoreNotFound(reader.get(namespaceType, { namespace: '', name }, { signal }));
  const namespace = await read();
  if (namespace?.metadata.deletionTimestamp === undefined) return undefined;
  const namespaced = types.all().filter((type) => type.namespaced);
  const remains = await emptyNamespace(name, namespaced, { reader, writer: client, signal });
  const isEmpty = remains.resources.size === 0 && remains.failures.size === 0;
  if (isEmpty && (!hasFinalizer(namespace, namespaceFinalizer) || (await removeNamespaceFinalizer(client, namespace))))
    return undefined;
  const present = await read();
  if (present === undefined) return undefined;
  // It has not changed and still could not be deleted: it has objects of types that are not served.
  const isSame = present.metadata.resourceVersion === namespace.metadata.resourceVersion;
  if (isEmpty && !isSame) return { requeueAfterMs: 0 };
  await reportRemains(client, present, isEmpty ? unseen() : remains);
  return { requeueAfterMs: pauseFor(namespace) };
}

/** False if it has changed or is not empty. */
async function removeNamespaceFinalizer(client: Pick<Client, 'patch'>, namespace: Stored<Namespace>): Promise<boolean> {
  try {
    await ignoreNotFound(removeFinalizer(client, namespaceType, namespace, namespaceFinalizer));
    return true;
  } catch (error) {
    if (isStatusError(error, 'Conflict') && !isFenceLost(error)) return false;
    throw error;
  }
}

function unseen(): NamespaceRemains {
  return {
    resources: new Map(),
    finalizers: new Map(),
    failures: new Map([['models that are not served', 'their objects are still there']]),
  };
}

async function reportRemains(
  client: Pick<Client, 'patch' | 'patchStatus'>,
  namespace: Stored<Namespace>,
  remains: NamespaceRemains,
): Promise<void> {
  const conditions = namespaceConditions(namespace.status?.conditions ?? [], remains, formatTimestamp(Date.now()));
  await ignoreNotFound(
    writeChanges(client, namespaceType, namespace, { ...namespace, status: { ...namespace.status, conditions } }),
  );
}

function pauseFor({ metadata }: Stored<Namespace>): number {
  const waited = Date.now() - Date.parse(metadata.deletionTimestamp ?? '');
  return Math.min(pause.longest, Math.max(pause.shortest, waited / 2));
}

export type Namespace = ApiObject<
  { finalizers?: string[] },
  { phase?: 'Active' | 'Terminating'; conditions?: Condition[] }
>;

export const namespaceType: ResourceType<Namespace> = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};
