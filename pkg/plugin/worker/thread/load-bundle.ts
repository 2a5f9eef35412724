/**
 * Imports the bundled module of a plugin; the only import whose path is not static. @throws any error of the plugin's
 * module
 */
export async function loadBundle(url: string): Promise<Record<string, unknown>> {
  return (await import(url)) as Record<string, unknown>;
}
