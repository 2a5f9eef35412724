import type { Client } from '#pkg/apimachinery/index';
import { bundleIndexKeys, registerModel, type PluginDefinition } from '#pkg/plugin/index';

export interface PluginModelsOptions {
  /** The plugin's folder, absolute: for computed indexes, whose functions are in its `index-keys.ts`. */
  folder?: string;
}

/** Registers a plugin's models like its host; runs no other part of it. */
export async function registerPluginModels(
  client: Client,
  { models }: Pick<PluginDefinition, 'models'>,
  { folder }: PluginModelsOptions = {},
): Promise<void> {
  const indexKeys = folder === undefined ? undefined : await bundleIndexKeys(folder, 'index.ts', new Map());
  for (const model of models) await registerModel(client, model, indexKeys === undefined ? {} : { indexKeys });
}
