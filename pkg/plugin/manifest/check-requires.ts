import satisfies from 'semver/functions/satisfies.js';
import { PluginError } from '../plugin-error.ts';

/**
 * Is it made for this version of the platform? A pre-release counts as its place in the order says. @throws PluginError
 * `PlatformVersionMismatch`
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
