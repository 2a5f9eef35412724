import type { ApiObject, Condition, JsonSchema, ResourceType } from '#pkg/apimachinery/index';

export const pluginGroup = 'plugin.svc.run';

/** Names the plugin that a definition, or a preset, belongs to. */
export const pluginLabel = 'svc.run/plugin';
/** A preset that carries it with the value `"true"`, as shipped or as stored, is the user's once it exists. */
export const doNotOverwriteLabel = 'svc.run/do-not-overwrite';

/** What a plugin's `plugin.yaml` says. Everything but `enabled` follows the file. */
export interface PluginSpec {
  displayName?: string;
  description?: string;
  /** Of the plugin, semver. */
  version: string;
  /** Versions of the platform it works with, as a semver range. */
  requires?: string;
  /** Plugins that must be started before it: semver ranges by their names. */
  dependencies?: Record<string, string>;
  /** What its Client may do: rules as a ClusterRole has them. */
  permissions?: PluginPermission[];
  /** Its module, relative to the folder. Default: index.ts, index.js or index.mjs. */
  main?: string;
  /** Starts and stops it. The file's value counts at first sight alone. Default false. */
  enabled?: boolean;
  /** Names of the variables of the host's environment that it sees; no others. */
  environment?: string[];
  limits?: PluginLimits;
}

export interface PluginPermission {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

export interface PluginLimits {
  /** Of its worker's heap. MiB, 16 to 4096; default 128. */
  memoryMiB?: number;
  /** For its module to load. Seconds, 1 to 300; default 30. */
  startSeconds?: number;
  /** How long its worker may be busy with one thing before it counts as hung. Seconds, 1 to 300; default 10. */
  blockedSeconds?: number;
}

export type PluginPhase = 'Disabled' | 'Starting' | 'Started' | 'Stopping' | 'Failed';

export interface PluginStatus {
  phase?: PluginPhase;
  /** Of the spec that the status speaks of. */
  observedGeneration?: number;
  /** The version that was started last. */
  version?: string;
  conditions?: Condition[];
  /** Names of the definitions it registered. */
  models?: string[];
  endpoints?: PluginEndpoint[];
  /** The stored inventory: what it shipped, written before the objects themselves. */
  presets?: PresetRecord[];
  /** Where its worker runs, for API servers in other processes. */
  host?: { url: string };
  /** How often its worker has ended by itself since it was started. */
  restarts?: number;
}

/** One object that a plugin shipped. */
export interface PresetRecord {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  /** It was there before, and a person's: it is updated, and never removed. */
  adopted?: boolean;
  /** With the label as shipped: created where it is absent, never changed or removed. */
  kept?: boolean;
}

export type EndpointAudience = 'console' | 'uc' | 'public';

/** One endpoint of a plugin as API servers know it. */
export interface PluginEndpoint {
  /** Under `console.api.<group>`, `uc.api.<group>`, or, open to anyone, `api.<group>`. */
  audience: EndpointAudience;
  group: string;
  version: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below group and version: `/posts/{name}/publication`. */
  path: string;
  operationId: string;
  summary?: string;
  description?: string;
  params?: JsonSchema;
  query?: JsonSchema;
  body?: JsonSchema;
  response?: JsonSchema;
}

export type Plugin = ApiObject<PluginSpec, PluginStatus> & { spec: PluginSpec };

/** Plugins, as a client names them. */
export const pluginType: ResourceType<Plugin> = {
  group: pluginGroup,
  version: 'v1alpha1',
  kind: 'Plugin',
  plural: 'plugins',
  namespaced: false,
  hasStatusSubresource: true,
};

/** Of all plugins' users. */
export const pluginsGroup = 'system:plugins';

/** The user whose permissions a plugin's Client has. */
export function pluginUser(plugin: string): string {
  return `system:plugin:${plugin}`;
}
