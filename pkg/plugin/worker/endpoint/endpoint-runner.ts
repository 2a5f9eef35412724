import {
  abortError,
  isStatusError,
  newInternalError,
  newServiceUnavailable,
  type Client,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { EndpointDefinition, EndpointHandler } from '../../definition/endpoint-definition.ts';
import type { EndpointCall, EndpointResult } from '../../endpoint/endpoint-call.ts';
import { endpointRoute } from '../../endpoint/endpoint-path.ts';
import type { PortLog } from '../port-log.ts';
import { operationIdOf } from './describe-endpoint.ts';
import { resultOf } from './endpoint-answer.ts';
import { RequestReader } from './request-reader.ts';
import type { SchemaChecker } from './schema-checker.ts';

interface Endpoint {
  route: string;
  reader: RequestReader;
  handler: EndpointHandler<unknown, unknown, unknown>;
}

/** Runs the endpoints of a plugin, one call at a time or many. */
export class EndpointRunner {
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  readonly #client: Client;
  readonly #log: PortLog;

  /** @throws Error for a schema that cannot be checked by */
  constructor({
    endpoints,
    checker,
    client,
    log,
  }: {
    endpoints: readonly EndpointDefinition[];
    checker: SchemaChecker;
    client: Client;
    log: PortLog;
  }) {
    this.#endpoints = new Map(
      endpoints.map((definition) => {
        const { method, path, operationId = operationIdOf(method, path), handler } = definition;
        return [
          operationId,
          {
            route: endpointRoute(definition),
            reader: new RequestReader(definition, operationId, checker),
            handler: handler as Endpoint['handler'],
          },
        ];
      }),
    );
    this.#client = client;
    this.#log = log;
  }

  /**
   * @throws StatusError, and nothing else: what a handler throws besides is logged, and the caller hears nothing of it
   */
  async run(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    const endpoint = this.#endpoints.get(call.operationId);
    // The version before may have had it elsewhere, open to others: whom the API server let through there has no way in
    // here.
    if (endpoint?.route !== call.endpoint)
      throw newServiceUnavailable(`the plugin has no endpoint ${call.operationId} at present`);
    const { operationId, requestId } = call;
    const log = this.#log.with({ operationId, requestId });
    try {
      const request = await endpoint.reader.read(call);
      return resultOf(await endpoint.handler(request, { client: this.#client, log, signal }));
    } catch (error) {
      throw this.#failureOf(error, log, signal);
    }
  }

  #failureOf(error: unknown, log: PortLog, signal: AbortSignal): StatusError {
    if (isStatusError(error)) return error;
    if (signal.aborted) return abortError(signal);
    log.error({ err: error }, 'the handler of an endpoint threw');
    return newInternalError(undefined);
  }
}
