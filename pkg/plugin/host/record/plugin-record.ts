import {
  isFenceLost,
  equalJson,
  isStatusError,
  type Client,
  type JsonValue,
  type ObjectKey,
  type Stored,
} from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginSpec, type PluginStatus, type PresetRecord } from '#pkg/apis/index';
import { addFinalizer, hasFinalizer, ignoreNotFound, removeFinalizer, writeChanges } from '#pkg/runtime/index';
import { changeConditions, type ConditionChanges } from './plugin-conditions.ts';

/** Blocks the deletion of a started Plugin until it has stopped. */
export const stopFinalizer = 'plugin.svc.run/stop';

/** Changes of status fields; `undefined` removes a field. */
export type StatusChange = {
  [Field in Exclude<keyof PluginStatus, 'conditions' | 'observedGeneration'>]?: PluginStatus[Field] | undefined;
} & { conditions?: ConditionChanges };

/** The Plugin object as this process last read or wrote it. */
export class PluginRecord {
  readonly #client: Client;
  #object: Stored<Plugin>;

  /** @param client reads from the server, without a cache */
  constructor(client: Client, object: Stored<Plugin>) {
    this.#client = client;
    this.#object = object;
  }

  get object(): Stored<Plugin> {
    return this.#object;
  }

  get name(): string {
    return this.#object.metadata.name;
  }

  get spec(): PluginSpec {
    return this.#object.spec;
  }

  get status(): PluginStatus {
    return this.#object.status ?? {};
  }

  get generation(): number {
    return this.#object.metadata.generation ?? 0;
  }

  get inventory(): readonly PresetRecord[] {
    return this.status.presets ?? [];
  }

  get isDeleted(): boolean {
    return this.#object.metadata.deletionTimestamp !== undefined;
  }

  /**
   * Reads the current object: the previous leader may have written changes that the cache does not show yet. @throws
   * StatusError 404 if it no longer exists
   */
  async refresh(signal?: AbortSignal): Promise<void> {
    this.#object = await this.#client.get(pluginType, pluginKey(this.name), signal === undefined ? {} : { signal });
  }

  /** Copies the spec from the file, except `enabled`. */
  async follow(spec: PluginSpec): Promise<void> {
    const { enabled = false } = this.#object.spec;
    this.#object = await writeChanges(this.#client, pluginType, this.#object, {
      ...this.#object,
      spec: { ...spec, enabled },
    });
  }

  async hold(): Promise<void> {
    this.#object = await addFinalizer(this.#client, pluginType, this.#object, stopFinalizer);
  }

  /** Removes the finalizer of a deleted Plugin. */
  async release(): Promise<void> {
    if (hasFinalizer(this.#object, stopFinalizer))
      await ignoreNotFound(removeFinalizer(this.#client, pluginType, this.#object, stopFinalizer));
  }

  /** Writes the fields that differ; no write if none does. */
  async change({ conditions = {}, ...fields }: StatusChange): Promise<void> {
    const merged = {
      ...this.status,
      ...fields,
      conditions: changeConditions(this.status.conditions ?? [], conditions, this.generation),
      observedGeneration: this.generation,
    };
    const status = Object.fromEntries(
      Object.entries(merged).filter(([, value]) => value !== undefined),
    ) as PluginStatus;
    this.#object = await writeChanges(this.#client, pluginType, this.#object, { ...this.#object, status });
  }

  /**
   * Stores the preset inventory; call it before the objects themselves change. @throws StatusError 409 if another
   * process has changed it meanwhile
   */
  readonly recordInventory = async (presets: PresetRecord[]): Promise<void> => {
    for (;;) {
      const {
        metadata: { resourceVersion },
      } = this.#object;
      try {
        this.#object = await this.#client.patchStatus(pluginType, pluginKey(this.name), {
          type: 'merge',
          patch: { metadata: { resourceVersion }, status: { presets: presets as unknown as JsonValue } },
        });
        return;
      } catch (error) {
        if (!isStatusError(error, 'Conflict') || isFenceLost(error)) throw error;
        const expected = this.inventory;
        await this.refresh();
        // Concurrent changes of other fields do not matter.
        const isExpected = equalJson(this.inventory as unknown as JsonValue, expected as unknown as JsonValue);
        if (!isExpected || this.#object.metadata.resourceVersion === resourceVersion) throw error;
      }
    }
  };
}

/** Whether the plugin should run. */
export function isWanted({ spec, metadata }: Plugin): boolean {
  return spec.enabled === true && metadata.deletionTimestamp === undefined;
}

export function pluginKey(name: string): ObjectKey {
  return { namespace: '', name };
}
