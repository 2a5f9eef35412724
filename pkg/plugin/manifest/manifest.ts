import type { PluginSpec } from '#pkg/apis/index';

/** A plugin's folder as its `plugin.yaml` describes it. */
export interface PluginManifest {
  name: string;
  /** As written, but for `enabled`, which is always there. */
  spec: PluginSpec & { enabled: boolean };
  /** Absolute, without symbolic links. */
  folder: string;
  /** Its module, relative to the folder: there, and within it. */
  main: string;
}

export const manifestFile = 'plugin.yaml';
