import {
  abortError,
  isStatusError,
  newInternalError,
  newServiceUnavailable,
  type Client,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { EndpointDefinition, EndpointHandler } from '../../../definition/endpoint-definition.ts';
import type { EndpointCall, EndpointResult } from '../../../endpoint/endpoint-call.ts';
import { endpointRoute } from '../../../endpoint/endpoint-path.ts';
import type { PortLog } from '../../log/port-log.ts';
import { operationIdOf } from './describe-endpoint.ts';
import { resultOf } from './endpoint-answer.ts';
import { RequestReader } from './request-reader.ts';
import type { SchemaChecker } from './schema-checker.ts';

interface Endpoint {
  route: string;
  reader: RequestReader;
  handler: EndpointHandler<unknown, unknown, unknown>;
}

/** Runs the endpoints of a plugin; calls may run concurrently. */
export class EndpointRunner {
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  readonly #client: Client;
  readonly #log: PortLog;

  /** @throws Error for an invalid schema */
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

  /** @throws StatusError only: any other error of a handler is logged, and the caller gets no details */
  async run(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    const endpoint = this.#endpoints.get(call.operationId);
    // The previous version may have served it at another path, to other users: a caller that the API server authorized
    // there has no access here.
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
    log.error({ err: error }, 'the handler of an endpoint threw an error');
    return newInternalError(undefined);
  }
}
