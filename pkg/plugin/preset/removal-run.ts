import {
  abortError,
  isFenceLost,
  isStatusError,
  newTimeout,
  withinTime,
  type AnyObject,
  type Client,
  type ObjectKey,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { pluginLabel, type PresetRecord } from '#pkg/apis/index';
import type { Log } from '#pkg/runtime/index';
import { unregisterModel } from '../model/unregister-model.ts';
import { formatType, isDefinitionKind, isNamespaceKind, PresetKinds } from './preset-kinds.ts';
import { formatObject } from './preset-object.ts';
import { decideRemoval } from './preset-rules.ts';
import { retryRaces, VanishedError } from './retry-races.ts';
import { pollForResult, readStored } from './stored-preset.ts';

/** A shipped object that could not be removed: it stays in the inventory. */
export interface LeftPreset {
  record: PresetRecord;
  /** Human-readable. */
  why: string;
}

export interface RemovalRunOptions {
  client: Client;
  log: Log;
  plugin: string;
  kinds: PresetKinds;
  /** Definitions that the plugin registers itself now: they stay unchanged. */
  models: readonly string[];
  timeoutMs: number;
  signal: AbortSignal;
}

/** Controllers create these in any namespace; they are deleted with it. */
const transientResources: ReadonlySet<string> = new Set([
  'leases.coordination.k8s.io',
  'events',
  'events.events.k8s.io',
]);

/** Parallel deletions and waits. */
const maxParallel = 16;

/** Maximum number of kinds in a message. */
const maxNamed = 10;

type Outcome = 'done' | { why: string } | Held;

interface Held {
  type: ResourceType;
  key: ObjectKey;
  uid: string;
}

/** Removes presets that are no longer shipped: in reverse order, then empty namespaces, then definitions. */
export class RemovalRun {
  readonly #options: RemovalRunOptions;
  readonly #left: LeftPreset[] = [];

  constructor(options: RemovalRunOptions) {
    this.#options = options;
  }

  /** Returns what is left after the timeout or cannot be removed. @throws if the signal fires or the fence is lost */
  async remove(records: readonly PresetRecord[]): Promise<LeftPreset[]> {
    const { timeoutMs, signal } = this.#options;
    const reversed = records.toReversed();
    const turns = [
      reversed.filter((record) => !isNamespaceKind(record) && !isDefinitionKind(record)),
      reversed.filter(isNamespaceKind),
      reversed.filter(isDefinitionKind),
    ];
    const timeoutError = (): Error => newTimeout(`it was not removed within ${timeoutMs} ms`);
    await withinTime({ timeoutMs, signal, timeoutError }, async (limit) => {
      for (const turn of turns) await this.#removeAll(turn, limit);
    });
    return this.#left;
  }

  /** Deletes all before it waits for any, because one may block another. */
  async #removeAll(records: readonly PresetRecord[], limit: AbortSignal): Promise<void> {
    const held: [PresetRecord, Held][] = [];
    await inChunks(records, async (record) => {
      const outcome = await this.#attempt(record, () => retryRaces(limit, () => this.#remove(record, limit)));
      if (outcome === undefined || outcome === 'done') return;
      if ('why' in outcome) this.#leave(record, outcome.why);
      else held.push([record, outcome]);
    });
    await inChunks(held, ([record, object]) => this.#attempt(record, () => this.#untilGone(record, object, limit)));
  }

  /** A failure of one preset does not stop the others. */
  async #attempt<T>(record: PresetRecord, work: () => Promise<T>): Promise<T | undefined> {
    const { signal } = this.#options;
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw abortError(signal);
      if (!isStatusError(error) || isFenceLost(error)) throw error;
      this.#leave(record, error.message);
      return undefined;
    }
  }

  #leave(record: PresetRecord, why: string): void {
    const { log, plugin } = this.#options;
    log.warn({ plugin, object: formatObject(record), why }, 'a preset was not removed');
    this.#left.push({ record, why });
  }

  async #remove(record: PresetRecord, limit: AbortSignal): Promise<Outcome> {
    const { client, log, plugin, kinds, models } = this.#options;
    const type = kinds.findServed(record);
    // A kind without a definition has no objects.
    if (type === undefined || (isDefinitionKind(record) && models.includes(record.name))) return 'done';
    if (type === 'unserved') return { why: 'its kind is not served at present' };
    if (type.namespaced !== (record.namespace !== undefined)) return 'done';
    const key = { namespace: record.namespace ?? '', name: record.name };
    const stored = await readStored(client, type, key, limit);
    if (stored === 'unserved') return { why: 'its kind is not served at present' };
    const verdict = decideRemoval({ plugin, record, stored });
    if (stored === undefined || verdict === 'forget') return 'done';
    if (verdict === 'wait') return { type, key, uid: stored.metadata.uid };
    if (verdict === 'release')
      await client.update(type, withoutLabel(stored), { signal: limit }).catch(ifVanished(stored));
    else if (verdict === 'delete') return this.#delete(type, stored, limit);
    else if (this.#isLeftOf(record.name, kinds)) return { why: 'objects of its kind are left' };
    else await unregisterModel(client, record.name, { plugin, signal: limit });
    log.info(
      { plugin, object: formatObject(record) },
      verdict === 'release' ? 'released an adopted preset' : 'stopped serving a definition of the presets',
    );
    return 'done';
  }

  /** If the model were not served, its objects could never lose their finalizers. */
  #isLeftOf(definition: string, kinds: PresetKinds): boolean {
    return this.#left.some(({ record }) => {
      const type = kinds.findServed(record);
      return typeof type === 'object' && formatType(type) === definition;
    });
  }

  async #delete(type: ResourceType, stored: Stored<AnyObject>, limit: AbortSignal): Promise<Outcome> {
    const { client, log, plugin } = this.#options;
    const { kind, metadata } = stored;
    const { uid, resourceVersion, namespace = '', name } = metadata;
    if (isNamespaceKind({ apiVersion: type.version, kind }) && type.group === '') {
      const why = await this.#whyNamespaceStays(type, stored, limit);
      if (why !== undefined) return { why };
    }
    const key = { namespace, name };
    // If somebody changed or replaced it since it was judged, the delete fails and it is judged again.
    const deletion = await client.delete(type, key, { uid, resourceVersion, signal: limit }).catch(ifVanished(stored));
    log.info(
      { plugin, object: formatObject({ kind, ...(namespace === '' ? {} : { namespace }), name }) },
      'deleted a preset',
    );
    return deletion.object === undefined ? 'done' : { type, key, uid };
  }

  /**
   * Why a namespace must stay: deleting it would delete objects of others. The server knows whether it is empty,
   * because it also sees objects of kinds that are not served; the served kinds say which objects those are.
   */
  async #whyNamespaceStays(
    type: ResourceType,
    stored: Stored<AnyObject>,
    limit: AbortSignal,
  ): Promise<string | undefined> {
    const { client } = this.#options;
    const { name, uid, resourceVersion, finalizers = [] } = stored.metadata;
    const trial = await client
      .delete(type, { namespace: '', name }, { uid, resourceVersion, dryRun: true, signal: limit })
      .catch(ifVanished(stored));
    if (trial.object === undefined) return undefined;
    // Loaded again, because this start may have begun to serve the plugin's own kinds.
    const kinds = await PresetKinds.load(client, [], limit);
    const found = await this.#contentOf(name, kinds, limit);
    const others = found.filter((each) => !transientResources.has(each));
    if (others.length > 0) return `other objects are in it: ${others.join(', ')}`;
    const unserved = kinds.unserved();
    if (unserved.length > 0)
      return `objects may be in it whose kinds are not served at present: ${unserved.slice(0, maxNamed).join(', ')}`;
    // For a namespace with a finalizer the trial does not show whether it is empty.
    return found.length === 0 && finalizers.length === 0 ? 'other objects are in it' : undefined;
  }

  async #contentOf(namespace: string, kinds: PresetKinds, limit: AbortSignal): Promise<string[]> {
    const found: string[] = [];
    for (const type of kinds.namespaced()) {
      const { items } = await this.#options.client.list(type, { namespace, limit: 1, signal: limit });
      if (items.length > 0) found.push(formatType(type));
    }
    return found;
  }

  /** Compares the uid: a new object with this name is not the plugin's. */
  async #untilGone(record: PresetRecord, { type, key, uid }: Held, limit: AbortSignal): Promise<void> {
    const { client, timeoutMs, signal } = this.#options;
    let heldBy: readonly string[] = [];
    try {
      await pollForResult({ timeoutMs, signal: limit }, async () => {
        const stored = await readStored(client, type, key, limit);
        if (stored === undefined || stored === 'unserved' || stored.metadata.uid !== uid) return true;
        heldBy = stored.metadata.finalizers ?? [];
        return undefined;
      });
    } catch (error) {
      if (!limit.aborted || signal.aborted) throw error;
      this.#leave(
        record,
        heldBy.length === 0 ? 'it is still being deleted' : `it is being deleted, and held by ${heldBy.join(', ')}`,
      );
    }
  }
}

/** Processes the chunks in order; after a failure it waits for the running chunk. */
async function inChunks<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < items.length; i += maxParallel) {
    const settled = await Promise.allSettled(items.slice(i, i + maxParallel).map(work));
    const failed = settled.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

function withoutLabel(stored: Stored<AnyObject>): Stored<AnyObject> {
  const { [pluginLabel]: _, ...labels } = stored.metadata.labels ?? {};
  return { ...stored, metadata: { ...stored.metadata, labels } };
}

function ifVanished({ metadata }: Stored<AnyObject>): (error: unknown) => never {
  return (error) => {
    throw isStatusError(error, 'NotFound') && error.details?.name === metadata.name
      ? new VanishedError(metadata.name)
      : error;
  };
}
