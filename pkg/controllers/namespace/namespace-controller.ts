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

/** A large namespace takes its time. Milliseconds. */
const timeoutMs = 600_000;
/** Between two looks at one whose content waits for others: the longer it has waited, the longer. Milliseconds. */
const pause = { shortest: 500, longest: 15_000 };

export interface NamespaceControllerOptions {
  /** What is read through it is never from a cache. */
  client: Client;
  log: Log;
}

/** Empties the namespaces that were deleted, says what is left in them, and lets them go. */
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
  if (isEmpty && (!hasFinalizer(namespace, namespaceFinalizer) || (await letGo(client, namespace)))) return undefined;
  const present = await read();
  if (present === undefined) return undefined;
  // Nobody wrote it, and it could not go: objects are in it that nobody serves.
  const isSame = present.metadata.resourceVersion === namespace.metadata.resourceVersion;
  if (isEmpty && !isSame) return { requeueAfterMs: 0 };
  await tell(client, present, isEmpty ? unseen() : remains);
  return { requeueAfterMs: pauseFor(namespace) };
}

/** False if it was written meanwhile, or is not empty. */
async function letGo(client: Pick<Client, 'patch'>, namespace: Stored<Namespace>): Promise<boolean> {
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

async function tell(
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
