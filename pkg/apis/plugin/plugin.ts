import type { ApiObject, Condition, JsonSchema, ResourceType } from '#pkg/apimachinery/index';

export const pluginGroup = 'plugin.svc.run';

/** The plugin that a definition or a preset belongs to. */
export const pluginLabel = 'svc.run/plugin';
/** A preset with the value `"true"`, in the shipped or the stored object, belongs to the user once it exists. */
export const doNotOverwriteLabel = 'svc.run/do-not-overwrite';

/** The content of a plugin's `plugin.yaml`. Everything but `enabled` follows the file. */
export interface PluginSpec {
  displayName?: string;
  description?: string;
  /** The plugin's version, semver. */
  version: string;
  /** Compatible versions of the platform, as a semver range. */
  requires?: string;
  /** Plugins that must be started first: semver ranges by plugin name. */
  dependencies?: Record<string, string>;
  /** The permissions of its Client: rules as in a ClusterRole. */
  permissions?: PluginPermission[];
  /** Its module, relative to the folder. Default: index.ts, index.js or index.mjs. */
  main?: string;
  /** Starts and stops it. The file's value counts only when the plugin is first found. Default false. */
  enabled?: boolean;
  /** Names of the host's environment variables that it sees; no others. */
  environment?: string[];
  limits?: PluginLimits;
  /** The object that holds its settings, for people who look for them. */
  settings?: SettingsReference;
}

export interface SettingsReference {
  apiVersion: string;
  kind: string;
  /** Default: none. */
  namespace?: string;
  name: string;
}

export interface PluginPermission {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

export interface PluginLimits {
  /** Heap of its worker. MiB, 16 to 4096; default 128. */
  memoryMiB?: number;
  /** For its module to load. Seconds, 1 to 300; default 30. */
  startSeconds?: number;
  /** How long its worker may block its event loop before it counts as hung. Seconds, 1 to 300; default 10. */
  blockedSeconds?: number;
}

export type PluginPhase = 'Disabled' | 'Starting' | 'Started' | 'Stopping' | 'Failed';

export interface PluginStatus {
  phase?: PluginPhase;
  /** Generation of the spec that the status describes. */
  observedGeneration?: number;
  /** The version that was started last. */
  version?: string;
  conditions?: Condition[];
  /** Names of the definitions it registered. */
  models?: string[];
  /** Names of the controllers that it runs. */
  controllers?: string[];
  endpoints?: PluginEndpoint[];
  /** The stored inventory: what it shipped, written before the objects themselves. */
  presets?: PresetRecord[];
  /** Where its worker runs, for API servers in other processes. */
  host?: { url: string };
  /** How often its worker has exited unexpectedly since it was started. */
  restarts?: number;
}

/** One object that a plugin shipped. */
export interface PresetRecord {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  /** It existed before as a user's object: it is updated, and never removed. */
  adopted?: boolean;
  /** Shipped with the label: created if absent, never changed or removed. */
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

/** The group of all plugins' users. */
export const pluginsGroup = 'system:plugins';

/** The user whose permissions a plugin's Client has. */
export function pluginUser(plugin: string): string {
  return `system:plugin:${plugin}`;
}
