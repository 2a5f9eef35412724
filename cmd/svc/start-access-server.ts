import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Logger } from 'pino';
import { AccessServer, type AccessService } from '#pkg/access/index';
import { apiHttpOptions } from './api-http-options.ts';
import { drainTimes } from './drain-times.ts';
import type { Options } from './options/option-table.ts';
import { explainListenFailure } from './start-failure.ts';
import { svcVersion } from './svc-version.ts';
import type { Teardown } from './teardown.ts';

export interface ListeningAccess {
  address: AddressInfo;
  serve(access: AccessService): void;
  readonly stop: () => Promise<void>;
}

/** Listens for the access management service: alive from now on, ready when `serve` was called. Throws OperatorError where the port is taken. */
export async function listenForAccess(options: Options, { log, teardown }: { log: Logger; teardown: Teardown }): Promise<ListeningAccess> {
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  const { limits, maxInFlight, requestTimeoutMs, slowRequestMs } = apiHttpOptions(options);
  const at = { host: options['svc.access.host'], port: options['svc.access.port'] };
  const server = new AccessServer({ ...at, svcVersion: svcVersion(), log, metrics, limits, ...(maxInFlight === undefined ? {} : { maxInFlight }), ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }), ...(slowRequestMs === undefined ? {} : { slowRequestMs }) });
  const stop = (): Promise<void> => server.stop(drainTimes(options));
  teardown.add('access server', stop);
  try {
    return { address: await server.listen(), serve: (access) => server.serve(access.parts), stop };
  } catch (error) {
    throw explainListenFailure(error, at, 'svc.access.port');
  }
}
