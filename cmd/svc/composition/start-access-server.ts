import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { AccessServer, type AccessService } from '#pkg/access/index';
import type { WriteMonitor } from '#pkg/database/index';
import type { ByteBudget, ScrapeToken, Handler, ServerCertificate, ServiceServer } from '#pkg/http/index';
import { accessHttpOptions } from './api-http-options.ts';
import { newByteBudget } from '../process/byte-budget.ts';
import { drainTimes, type DrainTimes } from '../process/drain-times.ts';
import { registerProcessMetrics } from '../metrics/process-metrics.ts';
import type { Options } from '../options/option-table.ts';
import { withListenErrors, listenTls, warnWithoutTls } from './listen.ts';
import { writesCheck } from './open-storage.ts';
import { svcBuild } from '../process/svc-version.ts';
import type { Teardown } from '../process/teardown.ts';
import type { WorkerContext } from './worker-context.ts';
import { registerCertificateMetrics } from '../tls/open-certificate.ts';

export interface AccessAddresses {
  address: AddressInfo;
  /** The https listener, if there is a certificate. */
  tlsAddress: AddressInfo | undefined;
}

export interface PreparedAccess {
  /** Live from then on, ready once `serve` was called. Throws OperatorError if a port is in use. */
  listen(): Promise<AccessAddresses>;
  serve(access: AccessService, writes: WriteMonitor): void;
  /** See `ServiceServer.handler`. */
  readonly handler: Handler;
  /** See `ServiceServer.suspend`. */
  readonly suspend: ServiceServer['suspend'];
  readonly stop: () => Promise<void>;
}

export type ListeningAccess = PreparedAccess & AccessAddresses;

export interface ListenParts {
  log: Logger;
  teardown: Teardown;
  certificate: ServerCertificate | undefined;
  scrapeToken: ScrapeToken | undefined;
  metrics?: Registry;
  /** The budget of the process; default: a separate one. */
  byteBudget?: ByteBudget;
  /** Called at the stop; default: the times of the options. */
  drain?: () => DrainTimes;
  /** If this is one of several workers. */
  worker?: WorkerContext | undefined;
}

/** Listens for access management. Throws OperatorError if a port is in use. */
export async function listenForAccess(options: Options, parts: ListenParts): Promise<ListeningAccess> {
  const prepared = prepareAccess(options, parts);
  return { ...prepared, ...(await prepared.listen()) };
}

/** The server of access management, which does not listen yet. */
export function prepareAccess(
  options: Options,
  {
    log,
    teardown,
    certificate,
    scrapeToken,
    metrics = new Registry(),
    byteBudget = newByteBudget(options),
    drain = () => drainTimes(options),
    worker,
  }: ListenParts,
): PreparedAccess {
  registerProcessMetrics(metrics, 'access-server', worker?.of);
  if (certificate !== undefined) registerCertificateMetrics(metrics, certificate);
  const { limits, proxies, maxInFlight, requestTimeoutMs, slowRequestMs, strictTransportDays } = accessHttpOptions(
    options,
    worker,
  );
  const at = { host: options['svc.access.host'], port: options['svc.access.port'] };
  const server = new AccessServer({
    ...at,
    ...svcBuild(),
    log,
    metrics,
    limits,
    proxies,
    byteBudget,
    addresses: worker?.addresses('access'),
    ...(worker === undefined ? {} : { metricsText: worker.metricsText('access', metrics) }),
    ...(scrapeToken === undefined ? {} : { scrapeToken }),
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    ...(slowRequestMs === undefined ? {} : { slowRequestMs }),
    ...(strictTransportDays === undefined ? {} : { strictTransportDays }),
  });
  const stop = (): Promise<void> => server.stop(drain());
  teardown.add('access server', stop);
  const listen = async (): Promise<AccessAddresses> => {
    const address = await withListenErrors(server.listen(), at, { host: 'svc.access.host', port: 'svc.access.port' });
    // One worker warns for all.
    if (worker?.port === undefined) warnWithoutTls(address, 'svc.access.host', log);
    if (certificate === undefined) return { address, tlsAddress: undefined };
    const tlsAt = {
      host: options['svc.access.tls.host'] ?? at.host,
      port: options['svc.access.tls.port'],
      certificate,
    };
    return { address, tlsAddress: await listenTls(server, tlsAt, 'svc.access') };
  };
  const serve = ({ parts }: AccessService, writes: WriteMonitor): void =>
    server.serve({
      ...parts,
      readyz: [...parts.readyz, writesCheck(writes), ...(worker === undefined ? [] : [worker.readyz])],
    });
  return {
    listen,
    serve,
    handler: server.handler,
    suspend: (why, drained) => server.suspend(why, drained),
    stop,
  };
}
