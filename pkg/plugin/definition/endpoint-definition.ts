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
  /** Who asks; anonymous at a public endpoint. */
  user: UserInfo;
  /** On every log line about it, and in the answer's X-Request-Id. */
  requestId: string;
}

export interface EndpointContext {
  /** The API, with the plugin's permissions, not the caller's. */
  client: Client;
  log: Log;
  /** Fires when the caller is gone or the time is up. */
  signal: AbortSignal;
}

/** An answer that is more than a value: `new EndpointAnswer({ status: 201, body: post })`. */
export class EndpointAnswer {
  /** Default 200, or 204 without a body. */
  readonly status: number;
  /** No connection headers, no cookies, no Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  /** Goes as JSON, unless a text comes with a Content-Type of its own. */
  readonly body: JsonValue | undefined;

  constructor({ status, headers = {}, body }: { status?: number; headers?: Record<string, string>; body?: unknown }) {
    this.status = status ?? (body === undefined ? 204 : 200);
    this.headers = headers;
    this.body = body as JsonValue | undefined;
  }
}

/**
 * A value is a 200 with it as JSON, none a 204; a StatusError is what it says, any other throw a 500 that says nothing.
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
  /** `/posts/{name}/publication`; each parameter is one whole segment. */
  path: string;
  /** Unique within the plugin. Default: made of method and path. */
  operationId?: string;
  summary?: string;
  description?: string;
  /**
   * The schema of each parameter in the path; strings without one. Values are converted to the types that the schemas
   * name.
   */
  params?: Params;
  /** Parameters beyond these are ignored, as everywhere in the API. */
  query?: Query;
  /** Absent: a body is not read. */
  body?: Body;
  /** For the reference; answers are not checked. */
  response?: TSchema;
  handler: EndpointHandler<
    StaticOr<Params, Record<string, string>>,
    StaticOr<Query, object>,
    StaticOr<Body, undefined>
  >;
}

/** An endpoint of whatever types, as a plugin lists it. */
export interface EndpointDefinition extends Omit<EndpointOptions<TObject, TObject, TSchema>, 'handler'> {
  handler: EndpointHandler<never, never, never>;
}

/** Declares an endpoint whose handler is typed by its schemas. It is served while its plugin is started. */
export function defineEndpoint<
  Params extends TObject = never,
  Query extends TObject = never,
  Body extends TSchema = never,
>(options: EndpointOptions<Params, Query, Body>): EndpointDefinition {
  return options;
}
