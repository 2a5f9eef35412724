/** `/`, the probes and the metrics are of every server itself. */
export const accessPrefixes = [
  '/api/v1/authentication',
  '/api/v1/users',
  '/api/v1/orgs',
  '/api/v1/rbac',
  '/api/v1/audits',
  '/api/docs',
  '/api/openapi.json',
  '/login',
  '/logout',
  '/settings',
  '/assets',
] as const;

// Each request to the content platform is asked: one expression takes less time than a loop.
const accessPaths = new RegExp(`^(${accessPrefixes.join('|').replaceAll('.', '[.]')})(?:/|$)`);

/**
 * The first part of a decoded path that access management answers, also at the address of the content platform;
 * undefined for any other path.
 */
export function accessPrefixOf(path: string): string | undefined {
  return accessPaths.exec(path)?.[1];
}
