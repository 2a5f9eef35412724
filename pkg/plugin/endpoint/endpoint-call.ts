import type { UserInfo } from '#pkg/identity/index';

/**
 * A request to an endpoint of a plugin, as an API server hands it to the host: who asks is known, and what came is
 * bounded, nothing else was checked.
 */
export interface EndpointCall {
  plugin: string;
  operationId: string;
  /**
   * What the API server took it for, and so whom it let through: `PUT
   * /apis/console.api.blog.example.com/v1/posts/{name}/publication`.
   */
  endpoint: string;
  /** Segments of the path, decoded. */
  params: Record<string, string>;
  /** Raw, without the question mark. */
  query: string;
  contentType?: string;
  /** Absent where the request has none. */
  body?: Uint8Array;
  user: UserInfo;
  requestId: string;
}

/** What the handler answered. A failure that is a Status is thrown instead, as StatusError. */
export interface EndpointResult {
  status: number;
  headers: Record<string, string>;
  body?: string;
}

/** Runs the endpoints of the plugins in this process. */
export interface EndpointHost {
  /**
   * @throws StatusError: the handler's own, what the endpoint's schemas refuse, 503 where the plugin does not run here
   */
  call(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult>;
}
