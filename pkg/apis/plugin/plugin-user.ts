/** Of all plugins' users. */
export const pluginsGroup = 'system:plugins';

/** The user whose permissions a plugin's Client has. */
export function pluginUser(plugin: string): string {
  return `system:plugin:${plugin}`;
}
