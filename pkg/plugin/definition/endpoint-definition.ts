import type { Static, TObject, TSchema } from 'typebox';
import type { Client, JsonValue } from '#pkg/apimachinery/index';
import type { EndpointAudience, PluginEndpoint } from '#pkg/apis/index';
import type { UserInfo } from '#pkg/identity/index';
import type { Log } from '#pkg/runtime/index';

/** A request as a handler sees it: checked against the endpoint's schemas. */
export interface EndpointRequest<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  /** The caller; anonymous at a public endpoint. */
  user: UserInfo;
  /** Appears in every log line of this request, and in the response header X-Request-Id. */
  requestId: string;
}

export interface EndpointContext {
  /** A client with the plugin's permissions, not the caller's. */
  client: Client;
  log: Log;
  /** Fires when the caller has disconnected or the request has timed out. */
  signal: AbortSignal;
}

/** A response with a status or headers: `new EndpointAnswer({ status: 201, body: post })`. */
export class EndpointAnswer {
  /** Default 200, or 204 without a body. */
  readonly status: number;
  /** No connection headers, no cookies, no Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is a text with a Content-Type. */
  readonly body: JsonValue | undefined;

  constructor({ status, headers = {}, body }: { status?: number; headers?: Record<string, string>; body?: unknown }) {
    this.status = status ?? (body === undefined ? 204 : 200);
    this.headers = headers;
    this.body = body as JsonValue | undefined;
  }
}

/**
 * A returned value becomes a 200 with it as JSON, and `undefined` a 204. A thrown StatusError is sent as it is; any
 * other error becomes a 500 without details.
 */
export type EndpointHandler<Params, Query, Body> = (
  request: EndpointRequest<Params, Query, Body>,
  context: EndpointContext,
) => Promise<unknown>;

type StaticOr<Schema extends TSchema, Other> = [Schema] extends [never] ? Other : Static<Schema>;

export interface EndpointOptions<Params extends TObject, Query extends TObject, Body extends TSchema> {
  /**
   * `console` is served under `/apis/console.api.<group>/<version>`, `uc` under `uc.api.<group>`; `public` under
   * `api.<group>`, to anyone.
   */
  audience: EndpointAudience;
  group: string;
  version: string;
  method: PluginEndpoint['method'];
  /** `/posts/{name}/publication`; each parameter is a whole segment. */
  path: string;
  /** Unique within the plugin. Default: derived from method and path. */
  operationId?: string;
  summary?: string;
  description?: string;
  /**
   * A schema for each parameter in the path; a parameter without one is a string. Values are converted to the types of
   * their schemas.
   */
  params?: Params;
  /** Other query parameters are ignored, as everywhere in the API. */
  query?: Query;
  /** If absent, the body is not read. */
  body?: Body;
  /** For the API reference only; responses are not validated. */
  response?: TSchema;
  handler: EndpointHandler<
    StaticOr<Params, Record<string, string>>,
    StaticOr<Query, object>,
    StaticOr<Body, undefined>
  >;
}

/** An endpoint of any types, as a plugin lists it. */
export interface EndpointDefinition extends Omit<EndpointOptions<TObject, TObject, TSchema>, 'handler'> {
  handler: EndpointHandler<never, never, never>;
}

/** Declares an endpoint whose handler is typed by its schemas. It is served while its plugin runs. */
export function defineEndpoint<
  Params extends TObject = never,
  Query extends TObject = never,
  Body extends TSchema = never,
>(options: EndpointOptions<Params, Query, Body>): EndpointDefinition {
  return options;
}
