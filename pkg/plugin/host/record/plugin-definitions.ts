import { isFenceLost, type Client } from '#pkg/apimachinery/index';
import { definitionType, doNotOverwriteLabel, pluginLabel, type PresetRecord } from '#pkg/apis/index';
import { unregisterModel } from '../../model/unregister-model.ts';
import type { PluginRecord } from './plugin-record.ts';

export interface UnregisterModelsOptions {
  /** Names of the models that stay served. */
  except?: readonly string[];
  /** The plugin's shipped presets: the preset rules apply to definitions among them. Default: the present inventory. */
  shipped?: readonly PresetRecord[];
  signal: AbortSignal;
}

/** A model that is still served, and why. */
export interface LeftModel {
  name: string;
  error: Error;
}

/**
 * Takes the plugin's models out of service, except those in `except`. Finds them by the labels of the definitions, so
 * that none is lost when a process ends. Skips definitions that the plugin shipped as presets, and those labelled as
 * the user's. Returns the models that could not be taken out of service in time.
 * @throws StatusError if they cannot be listed, the fence is lost, or the signal fires
 */
export async function withdrawModels(
  client: Client,
  record: PluginRecord,
  { except = [], shipped = record.inventory, signal }: UnregisterModelsOptions,
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
  // In parallel, because each has its own 30 s.
  await Promise.all(names.map(withdraw));
  return left;
}

/** The same, but a remaining model is a failure. @throws StatusError */
export async function unregisterModels(
  client: Client,
  record: PluginRecord,
  options: UnregisterModelsOptions,
): Promise<void> {
  const [left] = await withdrawModels(client, record, options);
  if (left !== undefined) throw left.error;
}
