/**
 * What API servers and hosts mount of plugins' endpoints. Loaded when it is asked for: it needs a web server, which a
 * plugin's worker is to do without.
 */
export function loadPluginEndpoints(): Promise<typeof import('./index.ts')> {
  return import('./index.ts');
}
