import type { PluginSpec } from '#pkg/apis/index';

/** A plugin's folder, as its `plugin.yaml` describes it. */
export interface PluginManifest {
  name: string;
  /** As written, with the default for `enabled`. */
  spec: PluginSpec & { enabled: boolean };
  /** Absolute, without symbolic links. */
  folder: string;
  /** The module, relative to the folder; it exists and is inside. */
  main: string;
}

export const manifestFile = 'plugin.yaml';
