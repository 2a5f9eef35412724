import type { ModelInfo } from './model-info.ts';

export const pluginInfo: ModelInfo = {
  group: 'plugin.svc.run',
  version: 'v1alpha1',
  kind: 'Plugin',
  plural: 'plugins',
  namespaced: false,
  hasStatusSubresource: true,
  verbs: [],
  shortNames: [],
  versions: ['v1alpha1'],
};

export interface PluginCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

export interface PluginPreset {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  adopted?: boolean;
  kept?: boolean;
}

export interface PluginEndpoint {
  audience: 'console' | 'uc' | 'public';
  group: string;
  version: string;
  method: string;
  path: string;
  summary?: string;
}

export interface PluginRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

/** As much of a Plugin as the console shows. */
export interface PluginObject {
  metadata: { name: string; generation?: number; deletionTimestamp?: string };
  spec: {
    displayName?: string;
    description?: string;
    version: string;
    requires?: string;
    dependencies?: Record<string, string>;
    permissions?: PluginRule[];
    enabled?: boolean;
    settings?: { apiVersion: string; kind: string; namespace?: string; name: string };
  };
  status?: {
    phase?: 'Disabled' | 'Starting' | 'Started' | 'Stopping' | 'Failed';
    version?: string;
    conditions?: PluginCondition[];
    models?: string[];
    controllers?: string[];
    endpoints?: PluginEndpoint[];
    presets?: PluginPreset[];
    restarts?: number;
  };
}

export function asPlugin(object: object): PluginObject {
  return object as PluginObject;
}

/** What is not as it should be, in the words of the server. */
export function faultsOf({ status }: PluginObject): string[] {
  return (status?.conditions ?? [])
    .filter((condition) => condition.status === 'False')
    .map(({ type, reason = '', message = '' }) => `${type}: ${message === '' ? reason : message}`);
}

/** Does it do what its `enabled` says, without a fault? */
export function isInOrder(plugin: PluginObject): boolean {
  const wanted = plugin.spec.enabled === true ? 'Started' : 'Disabled';
  return plugin.status?.phase === wanted && faultsOf(plugin).length === 0;
}
