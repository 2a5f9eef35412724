const ofPlugins = 'system:plugin';
const kinds = [':view', ':manage'];

/**
 * Is it the name of a ClusterRole that the platform writes as plugins and models come and go? What such a role allows
 * tomorrow nobody knows who writes it today, so its rules of today decide nothing.
 */
export function isPlatformRole(name: string): boolean {
  return name.startsWith(`${ofPlugins}:`) || name === `${ofPlugins}-impersonator` || isModelRole(name);
}

/** Those of plugins: also who gives them to somebody gives more than what they hold today. */
export function isPluginRole(name: string): boolean {
  return name.startsWith(ofPlugins);
}

/** `<plural>.<group>:view` or `:manage`. */
function isModelRole(name: string): boolean {
  return kinds.some((kind) => name.endsWith(kind)) && name.slice(0, name.indexOf(':')).includes('.');
}
