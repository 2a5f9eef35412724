import { isFenceLost, type Client } from '#pkg/apimachinery/index';
import { definitionType, doNotOverwriteLabel, pluginLabel, type PresetRecord } from '#pkg/apis/index';
import { unregisterModel } from '../model/unregister-model.ts';
import type { PluginRecord } from './plugin-record.ts';

export interface UnregisterModels {
  /** Names of those that stay served. */
  except?: readonly string[];
  /**
   * What the plugin has shipped: the rules of presets decide over definitions among them. Default: what the inventory
   * says now.
   */
  shipped?: readonly PresetRecord[];
  signal: AbortSignal;
}

/** A model that is served still, and why. */
export interface LeftModel {
  name: string;
  error: Error;
}

/**
 * Takes the plugin's models out of service, but for those in `except`. Which they are, their definitions say
 * themselves, so that none is forgotten, whenever a process ended; one that the plugin shipped as a preset is no model
 * of its code, and one that has the label of what is the user's is left alone. Answers those that could not be taken
 * out of service; it does not wait for ever.
 * @throws StatusError where they cannot be listed, the fence is lost, or the signal fires
 */
export async function withdrawModels(
  client: Client,
  record: PluginRecord,
  { except = [], shipped = record.inventory, signal }: UnregisterModels,
): Promise<LeftModel[]> {
  const plugin = record.name;
  const { items } = await client.list(definitionType, { labelSelector: `${pluginLabel}=${plugin}`, signal });
  const spared = new Set([
    ...except,
    ...shipped.filter(({ kind }) => kind === definitionType.kind).map(({ name }) => name),
  ]);
  const names = items
    .filter(({ metadata }) => metadata.labels?.[doNotOverwriteLabel] !== 'true')
    .map(({ metadata }) => metadata.name)
    .filter((name) => !spared.has(name));
  const left: LeftModel[] = [];
  const withdraw = async (name: string): Promise<void> => {
    try {
      await unregisterModel(client, name, { plugin, signal });
    } catch (error) {
      if (signal.aborted || isFenceLost(error) || !(error instanceof Error)) throw error;
      left.push({ name, error });
    }
  };
  // At once, as each has its own 30 s.
  await Promise.all(names.map(withdraw));
  return left;
}

/** The same, where one that is left is a failure. @throws StatusError */
export async function unregisterModels(client: Client, record: PluginRecord, options: UnregisterModels): Promise<void> {
  const [left] = await withdrawModels(client, record, options);
  if (left !== undefined) throw left.error;
}
