export function pluginLink(name: string): string {
  return `/plugins/${encodeURIComponent(name)}`;
}
