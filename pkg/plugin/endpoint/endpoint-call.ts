import type { UserInfo } from '#pkg/identity/index';

/**
 * A request to a plugin's endpoint as an API server passes it to the host: the caller is authenticated and the size is
 * limited; nothing else was checked.
 */
export interface EndpointCall {
  plugin: string;
  operationId: string;
  /**
   * The endpoint that the API server authorized: `PUT /apis/console.api.blog.example.com/v1/posts/{name}/publication`.
   */
  endpoint: string;
  /** Segments of the path, decoded. */
  params: Record<string, string>;
  /** Raw, without the question mark. */
  query: string;
  contentType?: string;
  /** Absent if the request has none. */
  body?: Uint8Array;
  user: UserInfo;
  requestId: string;
}

/** The handler's response. A failure that is a Status is thrown as StatusError instead. */
export interface EndpointResult {
  status: number;
  headers: Record<string, string>;
  body?: string;
  /** Of a page, instead of a body. */
  file?: Uint8Array;
}

/** Runs the endpoints of the plugins in this process. */
export interface EndpointHost {
  /**
   * @throws StatusError: the handler's own, validation errors of the endpoint's schemas, 503 if the plugin does not run
   * here
   */
  call(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult>;
}
