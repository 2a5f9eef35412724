/**
 * Loads the endpoints of plugins for API servers and hosts. A dynamic import, because it needs a web server, which a
 * plugin's worker must not load.
 */
export function loadPluginEndpoints(): Promise<typeof import('./index.ts')> {
  return import('./index.ts');
}
