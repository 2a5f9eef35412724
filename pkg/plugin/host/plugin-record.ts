import {
  isFenceLost,
  isSameJson,
  isStatusError,
  type Client,
  type JsonValue,
  type ObjectKey,
  type Stored,
} from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginSpec, type PluginStatus, type PresetRecord } from '#pkg/apis/index';
import { addFinalizer, hasFinalizer, ignoreNotFound, removeFinalizer, writeChanges } from '#pkg/runtime/index';
import { changeConditions, type ConditionChanges } from './plugin-conditions.ts';

/** Holds a Plugin that has been started until it was stopped. */
export const stopFinalizer = 'plugin.svc.run/stop';

/** What is written of a status; `undefined` takes a field away. */
export type StatusChange = {
  [Field in Exclude<keyof PluginStatus, 'conditions' | 'observedGeneration'>]?: PluginStatus[Field] | undefined;
} & { conditions?: ConditionChanges };

/** One Plugin object as this process knows it, through all that it writes to it. */
export class PluginRecord {
  readonly #client: Client;
  #object: Stored<Plugin>;

  /** @param client whose reads ask the server */
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
   * The object as it is now: whoever led before may have written what no cache shows yet. @throws StatusError 404 where
   * it is gone
   */
  async refresh(signal?: AbortSignal): Promise<void> {
    this.#object = await this.#client.get(pluginType, pluginKey(this.name), signal === undefined ? {} : { signal });
  }

  /** The spec becomes what the file says, but for whether it is to run. */
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

  /** Lets a deleted one go. */
  async release(): Promise<void> {
    if (hasFinalizer(this.#object, stopFinalizer))
      await ignoreNotFound(removeFinalizer(this.#client, pluginType, this.#object, stopFinalizer));
  }

  /** Writes what differs, and nothing where nothing does. */
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
   * Stores what the plugin ships; to be called before the objects themselves change. @throws StatusError 409 where
   * another has stored it meanwhile
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
        // What else others write is none of its business.
        const isExpected = isSameJson(this.inventory as unknown as JsonValue, expected as unknown as JsonValue);
        if (!isExpected || this.#object.metadata.resourceVersion === resourceVersion) throw error;
      }
    }
  };
}

/** Is it to run? */
export function isWanted({ spec, metadata }: Plugin): boolean {
  return spec.enabled === true && metadata.deletionTimestamp === undefined;
}

export function pluginKey(name: string): ObjectKey {
  return { namespace: '', name };
}
