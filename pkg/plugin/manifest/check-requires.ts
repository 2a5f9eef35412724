import satisfies from 'semver/functions/satisfies.js';
import { PluginError } from '../plugin-error.ts';

/**
 * Checks that the plugin supports this version of the platform. A pre-release is compared by its place in the order.
 * @throws PluginError `PlatformVersionMismatch`
 */
export function checkRequires(requires: string | undefined, platformVersion: string): void {
  if (requires === undefined || isInRange(platformVersion, requires)) return;
  throw new PluginError({
    reason: 'PlatformVersionMismatch',
    message: `spec.requires is ${requires}, and this is version ${platformVersion} of the platform`,
  });
}

export function isInRange(version: string, range: string): boolean {
  return satisfies(version, range, { includePrerelease: true });
}
