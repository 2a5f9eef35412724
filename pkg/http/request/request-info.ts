/** The parsed form of a request, from its method, path and query only. Source: k8s.io/apiserver RequestInfo. */
export interface RequestInfo {
  /** False for every path outside `/apis/<group>/<version>/<resource>` and `/api/<version>/<resource>`. */
  isResourceRequest: boolean;
  /** Decoded path. */
  path: string;
  /** get, list, watch, create, update, patch, delete, deletecollection; for other paths the lower-case method. */
  verb: string;
  /** '' for the core group; the fields below are '' if the path lacks them. */
  group: string;
  version: string;
  namespace: string;
  /** The plural. */
  resource: string;
  subresource: string;
  name: string;
  /** Segments after the subresource; no resource has any, so such a path is unknown. */
  rest: string[];
  /** No endpoint group owned the path when that was first asked; see `endpointGroupOf`. */
  isUnowned?: boolean;
}
