/**
 * The module that a plugin's folder was bundled into: the one import whose module nobody knows before. @throws whatever
 * the plugin's module throws
 */
export async function loadBundle(url: string): Promise<Record<string, unknown>> {
  return (await import(url)) as Record<string, unknown>;
}
