import {
  abortError,
  equalJson,
  isStatusError,
  newTimeout,
  pause,
  StatusError,
  withinTime,
  type JsonObject,
  type Reader,
  type StatusReason,
  type Stored,
  type Watcher,
  type Writer,
} from '#pkg/apimachinery/index';
import {
  defaultDefinition,
  definitionType,
  isEstablished,
  pluginLabel,
  type CustomResourceDefinition,
  type DefinitionSpec,
  type DefinitionVersion,
} from '#pkg/apis/index';
import { ItemBackoff } from '#pkg/runtime/index';
import type { DefinedModel } from './define-model.ts';
import { computedIndexes, withIndexKeys } from './index-keys.ts';
import { versionsServedBefore, withoutServedBefore } from './served-versions.ts';

export interface RegisterModelOptions {
  /** The plugin that owns the model. A definition of another plugin is a 409; one without owner is taken over. */
  plugin?: string;
  /**
   * The text that defines the global `indexKeys`, for a model with computed indexes: the plugin's `index-keys.ts`,
   * bundled.
   */
  indexKeys?: string;
  /** Timeout in milliseconds, default 30 000; then it is 504. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

type DefinitionClient = Pick<Reader & Writer & Watcher, 'get' | 'create' | 'update' | 'watch'>;

/** Reasons that may pass on a retry. */
const transientReasons: ReadonlySet<StatusReason> = new Set([
  'AlreadyExists',
  'Conflict',
  'NotFound',
  'Expired',
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
]);

/** A retry will not help. */
class ModelRefusedError extends StatusError {
  constructor(message: string) {
    super(409, 'Conflict', message);
  }
}

/**
 * Makes the API serve a model in code: creates or updates its definition, and resolves when the model is served. Safe
 * in several processes at once; transient failures are retried. The code decides over its own version, which becomes
 * the storage version, and over the names; other versions stay. Indexes may still be building: see the definition's
 * condition `IndexesReady`.
 * @param client must not read from a cache
 * @throws TypeError for a model with computed indexes without `indexKeys`
 * @throws StatusError 409 that names the owner of the model or of one of its names, 422 for a change that the server
 * refuses, 504 on timeout
 */
export async function registerModel(
  client: DefinitionClient,
  { definition }: Pick<DefinedModel, 'definition'>,
  { plugin, indexKeys, timeoutMs = 30_000, signal }: RegisterModelOptions = {},
): Promise<Stored<CustomResourceDefinition>> {
  const computed = computedIndexes(definition);
  if (computed.length > 0 && indexKeys === undefined)
    throw new TypeError(
      `the model ${definition.metadata.name} has computed indexes (${computed.join(', ')}), and indexKeys, the text of their functions, was not given`,
    );
  const complete = indexKeys === undefined ? definition : withIndexKeys(definition, indexKeys);
  const wanted =
    plugin === undefined
      ? complete
      : { ...complete, metadata: { ...complete.metadata, labels: { [pluginLabel]: plugin } } };
  let last = '';
  const failed = (error: StatusError): void => {
    last = `; at last: ${error.message}`;
  };
  const timeoutError = (): Error =>
    newTimeout(`the model ${definition.metadata.name} was not served within ${timeoutMs} ms${last}`);
  return withinTime({ timeoutMs, signal, timeoutError }, (limit) => settle(client, wanted, limit, failed));
}

/** Writes what differs and waits for a change, until the server has decided. */
async function settle(
  client: DefinitionClient,
  wanted: CustomResourceDefinition,
  signal: AbortSignal,
  failed: (error: StatusError) => void,
): Promise<Stored<CustomResourceDefinition>> {
  const backoff = new ItemBackoff({ baseMs: 20, maxMs: 2000, jitter: 0.5 });
  for (;;) {
    if (signal.aborted) throw abortError(signal);
    try {
      const current = await writeDefinition(client, wanted, signal);
      if (isServed(current)) return current;
      await nextChange(client, current, signal);
    } catch (error) {
      if (error instanceof ModelRefusedError || !isStatusError(error) || !transientReasons.has(error.reason))
        throw error;
      failed(error);
      await pause(backoff.delay(''), signal);
    }
  }
}

async function writeDefinition(
  client: DefinitionClient,
  wanted: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<Stored<CustomResourceDefinition>> {
  const { name } = wanted.metadata;
  let stored: Stored<CustomResourceDefinition>;
  try {
    stored = await client.get(definitionType, { namespace: '', name }, { signal });
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error;
    return client.create(definitionType, wanted, { signal });
  }
  // A definition that is being deleted takes no changes; it is recreated afterwards.
  if (stored.metadata.deletionTimestamp !== undefined) return stored;
  const owner = stored.metadata.labels?.[pluginLabel];
  if (owner !== undefined && owner !== wanted.metadata.labels?.[pluginLabel])
    throw new ModelRefusedError(`the model ${name} belongs to the plugin ${owner}`);
  const labels = { ...stored.metadata.labels, ...wanted.metadata.labels };
  const spec = wantedSpec(wanted, stored);
  const metadata = withoutServedBefore(stored.metadata);
  const isSame =
    equalJson(spec as unknown as JsonObject, stored.spec as unknown as JsonObject) &&
    equalJson(labels, stored.metadata.labels ?? {});
  if (isSame && metadata === stored.metadata) return stored;
  return client.update(definitionType, { ...stored, metadata: { ...metadata, labels }, spec }, { signal });
}

/**
 * The declared version next to the versions that only the stored definition has, because objects may be stored in them.
 * Versions that were served before the definition was unregistered are served again.
 */
function wantedSpec(definition: CustomResourceDefinition, stored: CustomResourceDefinition): DefinitionSpec {
  const { spec } = defaultDefinition(definition);
  const [own] = spec.versions;
  const before = versionsServedBefore(stored.metadata);
  // All versions get the same text: the functions belong to the code, whichever version declares an index.
  const keysOf = ({ indexKeys }: DefinitionVersion): Pick<DefinitionVersion, 'indexKeys'> =>
    indexKeys === undefined || own?.indexKeys === undefined ? {} : { indexKeys: own.indexKeys };
  const kept = (version: DefinitionVersion): DefinitionVersion => ({
    ...version,
    ...keysOf(version),
    storage: false,
    served: version.served || before.has(version.name),
  });
  const versions = stored.spec.versions.map((version) => (version.name === own?.name ? own : kept(version)));
  return { ...spec, versions: own === undefined || versions.includes(own) ? versions : [...versions, own] };
}

/** @throws ModelRefusedError if another model has one of the names */
function isServed(definition: Stored<CustomResourceDefinition>): boolean {
  const { name, deletionTimestamp } = definition.metadata;
  if (deletionTimestamp !== undefined) return false;
  const named = definition.status?.conditions?.find(({ type }) => type === 'NamesAccepted');
  if (named?.status === 'False')
    throw new ModelRefusedError(`the model ${name} is not served under its names: ${named.message}`);
  return isEstablished(definition);
}

/** Resolves when the definition may have changed. */
async function nextChange(
  client: DefinitionClient,
  { metadata }: Stored<CustomResourceDefinition>,
  signal: AbortSignal,
): Promise<void> {
  const stream = await client.watch(definitionType, {
    fieldSelector: `metadata.name=${metadata.name}`,
    resourceVersion: metadata.resourceVersion,
    signal,
  });
  try {
    for await (const event of stream) {
      if (event.type !== 'BOOKMARK') return;
    }
  } finally {
    stream.close();
  }
}
