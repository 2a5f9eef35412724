/** Each with the paths below it. `/`, the probes and the metrics are of every server itself. */
const accessPaths =
  /^\/(?:api\/v1\/(?:authentication|users|orgs|rbac|audits)|api\/docs|api\/openapi\.json|login|logout|settings|assets)(?:\/|$)/;

/** Whether access management answers this decoded path, also at the address of the content platform. */
export function isAccessPath(path: string): boolean {
  return accessPaths.test(path);
}
