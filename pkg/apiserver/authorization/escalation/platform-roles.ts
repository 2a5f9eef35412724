const ofPlugins = 'system:plugin';
/** Lets the controllers impersonate the existing plugins. */
export const pluginImpersonatorRole = `${ofPlugins}-impersonator`;
const kinds = [':view', ':manage'];

/**
 * Whether the platform writes the ClusterRole of this name, as plugins and models come and go. Its rules may change
 * later, so holding its present rules is no permission to write it.
 */
export function isPlatformRole(name: string): boolean {
  return name.startsWith(`${ofPlugins}:`) || name === pluginImpersonatorRole || isModelRole(name);
}

/** Roles of plugins: a binding to one may later grant more than the user who wrote the binding holds. */
export function isPluginRole(name: string): boolean {
  return name.startsWith(ofPlugins);
}

/** `<plural>.<group>:view` or `:manage`. */
function isModelRole(name: string): boolean {
  return kinds.some((kind) => name.endsWith(kind)) && name.slice(0, name.indexOf(':')).includes('.');
}
