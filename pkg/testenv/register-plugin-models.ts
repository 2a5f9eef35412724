import type { Client } from '#pkg/apimachinery/index';
import { bundleIndexKeys, registerModel, type PluginDefinition } from '#pkg/plugin/index';

export interface PluginModelsOptions {
  /** The plugin's, absolute: for the models' computed indexes, whose functions are in `index-keys.ts` there. */
  folder?: string;
}

/** Makes the API serve a plugin's models, as its host would; nothing else of it runs. */
export async function registerPluginModels(
  client: Client,
  { models }: Pick<PluginDefinition, 'models'>,
  { folder }: PluginModelsOptions = {},
): Promise<void> {
  const indexKeys = folder === undefined ? undefined : await bundleIndexKeys(folder, 'index.ts', new Map());
  for (const model of models) await registerModel(client, model, indexKeys === undefined ? {} : { indexKeys });
}
