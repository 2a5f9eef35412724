/** What a request is about, read from its method, path and query alone. Source: k8s.io/apiserver RequestInfo. */
export interface RequestInfo {
  /** False for every path outside `/apis/<group>/<version>/<resource>` and `/api/<version>/<resource>`. */
  isResourceRequest: boolean;
  /** Decoded path. */
  path: string;
  /** get, list, watch, create, update, patch, delete, deletecollection; of another path the lower-case method. */
  verb: string;
  /** '' for the core group; so are the parts below where the path has none. */
  group: string;
  version: string;
  namespace: string;
  /** The plural. */
  resource: string;
  subresource: string;
  name: string;
  /** Segments after the subresource: no resource has any, so they make the path unknown. */
  rest: string[];
  /** No endpoint group owned the path when that was first asked; see `endpointGroupOf`. */
  isUnowned?: boolean;
}
