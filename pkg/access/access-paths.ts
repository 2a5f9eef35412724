/** `/`, the probes and the metrics are of every server itself. */
const accessPaths =
  /^(\/(?:api\/v1\/(?:authentication|users|orgs|rbac|audits)|api\/docs|api\/openapi\.json|login|logout|settings|assets))(?:\/|$)/;

/**
 * The first part of a decoded path that access management answers, also at the address of the content platform;
 * undefined for any other path.
 */
export function accessPrefixOf(path: string): string | undefined {
  return accessPaths.exec(path)?.[1];
}
