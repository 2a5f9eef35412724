import {
  abortError,
  isFenceLost,
  isStatusError,
  newTimeout,
  pause,
  withinTime,
  type Reader,
  type StatusError,
  type StatusReason,
  type Writer,
} from '#pkg/apimachinery/index';
import { definitionType, pluginLabel } from '#pkg/apis/index';
import { ItemBackoff } from '#pkg/runtime/index';
import { withServedBefore } from './served-versions.ts';

export interface UnregisterModelOptions {
  /** The plugin that must own the model; other definitions stay unchanged. */
  plugin: string;
  /** Timeout in milliseconds, default 30 000; then it is 504. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

const transientReasons: ReadonlySet<StatusReason> = new Set([
  'Conflict',
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
]);

/**
 * Takes a model out of service: its paths return 404, its watches end, and discovery and documents omit it. Its
 * definition stays with its objects, indexes and names, which no other model can take; `registerModel` serves all of it
 * again, with every version that was served. Does nothing if the definition is missing, not served, being deleted, or
 * owned by another.
 * @param name of the definition: `posts.blog.example.com`
 * @throws StatusError 504 on timeout
 */
export function unregisterModel(
  client: Pick<Reader & Writer, 'get' | 'update'>,
  name: string,
  { plugin, timeoutMs = 30_000, signal }: UnregisterModelOptions,
): Promise<void> {
  let last = '';
  const failed = ({ message }: StatusError): void => {
    last = `; at last: ${message}`;
  };
  const timeoutError = (): Error =>
    newTimeout(`the model ${name} could not be taken out of service within ${timeoutMs} ms${last}`);
  return withinTime({ timeoutMs, signal, timeoutError }, (limit) =>
    settle(() => withdraw(client, name, plugin, limit), failed, limit),
  );
}

async function settle(
  attempt: () => Promise<void>,
  failed: (error: StatusError) => void,
  signal: AbortSignal,
): Promise<void> {
  const backoff = new ItemBackoff({ baseMs: 20, maxMs: 2000, jitter: 0.5 });
  for (;;) {
    if (signal.aborted) throw abortError(signal);
    try {
      return await attempt();
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return;
      if (!isStatusError(error) || !transientReasons.has(error.reason) || isFenceLost(error)) throw error;
      failed(error);
      await pause(backoff.delay(''), signal);
    }
  }
}

async function withdraw(
  client: Pick<Reader & Writer, 'get' | 'update'>,
  name: string,
  plugin: string,
  signal: AbortSignal,
): Promise<void> {
  const stored = await client.get(definitionType, { namespace: '', name }, { signal });
  const served = stored.spec.versions.filter((version) => version.served).map((version) => version.name);
  if (
    stored.metadata.labels?.[pluginLabel] !== plugin ||
    stored.metadata.deletionTimestamp !== undefined ||
    served.length === 0
  )
    return;
  const versions = stored.spec.versions.map((version) => ({ ...version, served: false }));
  // When the update returns, this server no longer serves the model.
  await client.update(
    definitionType,
    { ...stored, metadata: withServedBefore(stored.metadata, served), spec: { ...stored.spec, versions } },
    { signal },
  );
}
