import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { accessPrefixOf, type AccessService } from '#pkg/access/index';
import { ApiServer, ConsoleFolder, type MountedService } from '#pkg/apiserver/index';
import type { PoolState } from '#pkg/database/index';
import { accessForwarder } from './access-forwarder.ts';
import { apiHttpOptions } from './api-http-options.ts';
import { newByteBudget } from '../process/byte-budget.ts';
import { ControllerMetrics } from '../metrics/controller-metrics.ts';
import { PlatformMetrics } from '../metrics/platform-metrics.ts';
import { PluginMetrics } from '../metrics/plugin-metrics.ts';
import { registerWorkerMetrics } from '../metrics/worker-metrics.ts';
import { drainTimes, warnOfShortDelay } from '../process/drain-times.ts';
import { openScrapeToken } from './open-scrape-token.ts';
import { openAuditOutput } from './open-audit.ts';
import { openPlatformDatabase, openReadDatabase, startWithDatabase, startWriteMonitor } from './open-storage.ts';
import { openPlatform, type PlatformGround } from './platform/open-platform.ts';
import { RebuiltPlatform } from './platform/rebuilt-platform.ts';
import type { Options } from '../options/option-table.ts';
import type { Running } from '../process/run-until-signal.ts';
import { withListenErrors, listenTls, warnWithoutTls } from './listen.ts';
import { prepareAccess, type AccessAddresses } from './start-access-server.ts';
import { pluginHostUrl } from './plugin-endpoints.ts';
import type { Environment } from './start-plugins.ts';
import { svcBuild } from '../process/svc-version.ts';
import { Teardown } from '../process/teardown.ts';
import { openCertificate, registerCertificateMetrics } from '../tls/open-certificate.ts';
import type { WorkerContext } from './worker-context.ts';
import { prepareKubeconfig } from '../tls/prepare-kubeconfig.ts';

/** How the names of a store's pools at its standby begin. */
const standbyPools = 'standby ';

export interface Platform extends Running {
  readonly address: AddressInfo;
  /** The https listener, if there is a certificate. */
  readonly tlsAddress: AddressInfo | undefined;
  /** The access management service, if it runs in this process. */
  readonly access: AccessAddresses | undefined;
  readonly hasConsole: boolean;
  readonly tokenFile: string;
  /** The kubeconfig file, if this process generates its own certificate. */
  readonly kubeconfig: string | undefined;
}

type Addresses = Pick<Platform, 'address' | 'tlsAddress' | 'access'>;

/** Which parts run in this process next to the API. */
export interface PlatformParts {
  /** The platform's controllers and plugins. */
  controllers: boolean;
  /** A separate listener of the access management service. */
  accessServer: boolean;
  /** Generates a certificate if the options name none, and a kubeconfig file. */
  local: boolean;
  environment: Environment;
  /** Where a build of the console is, or will be. */
  consoleFolder: string;
  /** If this is one of several workers. The parent makes its certificate, and the kubeconfig file. */
  worker?: WorkerContext;
}

/** Starts the content platform; resolves once it serves requests. A failed start stops everything it has started. */
export async function startPlatform(options: Options, log: Logger, parts: PlatformParts): Promise<Platform> {
  const teardown = new Teardown(log);
  try {
    const { worker } = parts;
    if (worker === undefined) warnOfShortDelay(options, log);
    const metrics = new PlatformMetrics(log, { workers: worker?.of });
    const database = await openPlatformDatabase(options, {
      log,
      teardown,
      applicationName: 'svc apiserver',
      startTimeoutMs: options['svc.database.start-timeout'],
      observer: metrics.database,
      embedded: worker?.embedded,
    });
    // Of several workers the parent process tells.
    if (worker === undefined)
      registerWorkerMetrics(metrics.registry, { count: 1, serving: () => 1, restarts: () => 0 });
    // Controllers read little, and what they read they write: svc serve reads from the primary alone.
    const readDatabase = parts.accessServer
      ? undefined
      : await openReadDatabase(options, {
          log,
          teardown,
          applicationName: 'svc apiserver',
          observer: metrics.database,
        });
    const ofStandby = (): readonly PoolState[] =>
      readDatabase?.poolStates().filter(({ pool }) => pool.startsWith(standbyPools)) ?? [];
    metrics.database.registerPools(() => [...database.poolStates(), ...ofStandby()]);
    const writes = startWriteMonitor(database, { log, teardown });
    metrics.database.registerWrites(writes);
    const byteBudget = newByteBudget(options);
    const scrapeToken = await openScrapeToken(options, log);
    const publicUrl = options['svc.server.public-url'];
    const server = new ApiServer({
      ...svcBuild(),
      log,
      metrics: metrics.registry,
      ...(scrapeToken === undefined ? {} : { scrapeToken }),
      addresses: worker?.addresses('server'),
      ...(worker === undefined ? {} : { metricsText: worker.metricsText('platform', metrics.registry) }),
      http: { ...apiHttpOptions(options, worker), byteBudget, ...(publicUrl === undefined ? {} : { publicUrl }) },
    });
    let drain = drainTimes(options);
    const stopServer = (): Promise<void> => server.stop(drain);
    // From here on the process is live; it is ready only at the end, because migrations may take long.
    teardown.add('server', stopServer);
    const at = { host: options['svc.server.host'], port: options['svc.server.port'] };
    const opened = await openCertificate(options, {
      selfMade: parts.local,
      isKeptElsewhere: worker !== undefined,
      log,
      teardown,
    });
    const certificate = opened?.certificate;
    if (certificate !== undefined) registerCertificateMetrics(metrics.registry, certificate);
    const accessServer = parts.accessServer
      ? prepareAccess(options, { log, teardown, certificate, scrapeToken, byteBudget, drain: () => drain, worker })
      : undefined;
    const listen = async (): Promise<Addresses> => {
      const address = await withListenErrors(server.listen(), at, { host: 'svc.server.host', port: 'svc.server.port' });
      // One worker warns for all.
      if (worker?.port === undefined) warnWithoutTls(address, 'svc.server.host', log);
      const tlsAt = { host: options['svc.server.tls.host'] ?? at.host, port: options['svc.server.tls.port'] };
      const tlsAddress =
        certificate === undefined ? undefined : await listenTls(server, { ...tlsAt, certificate }, 'svc.server');
      return { address, tlsAddress, access: await accessServer?.listen() };
    };
    const early = worker?.port === undefined ? await listen() : undefined;
    const consoleFolder = new ConsoleFolder(parts.consoleFolder);
    const auditOutput = await openAuditOutput(options, { log, metrics, teardown });
    const ground: PlatformGround = {
      database,
      readDatabase,
      writes,
      auditOutput,
      metrics,
      controllers: parts.controllers
        ? {
            metrics: new ControllerMetrics(metrics.registry),
            pluginMetrics: new PluginMetrics(metrics.registry),
            environment: parts.environment,
          }
        : undefined,
      url: pluginHostUrl(options, early?.address.port ?? worker!.port!),
      consoleFolder,
      worker,
      log,
    };
    const forwarder = accessServer === undefined ? accessForwarder(options, { log, teardown }) : undefined;
    const mountedOf = ({ forwardingProof }: AccessService): { mounted?: MountedService } => {
      if (accessServer !== undefined) return { mounted: { prefixOf: accessPrefixOf, handler: accessServer.handler } };
      if (forwarder === undefined) return {};
      return { mounted: { prefixOf: accessPrefixOf, handler: forwarder.handler(forwardingProof), isForwarded: true } };
    };
    const platform = new RebuiltPlatform({
      log,
      open: () => openPlatform(options, ground),
      serve: ({ api, access }) => {
        server.serve({ ...api, ...mountedOf(access) });
        accessServer?.serve(access, writes);
      },
      suspend: async (...args) => void (await Promise.all([server.suspend(...args), accessServer?.suspend(...args)])),
    });
    teardown.add('platform', () => platform.stop());
    const { tokenFile } = await startWithDatabase(options, log, () => platform.start());
    const { address, tlsAddress, access } = early ?? (await listen());
    const kubeconfig =
      parts.local && worker === undefined && opened !== undefined && tlsAddress !== undefined
        ? await prepareKubeconfig(options, { opened, tlsAddress, tokenFile, log })
        : undefined;
    // A second time, so that it stops before its dependencies; controllers have the same dependencies, and the same
    // time for running work.
    teardown.add(
      'server and controllers',
      async () => void (await Promise.all([stopServer(), accessServer?.stop(), platform.stopControllers()])),
    );
    const failed = platform.failed.then((reason) => {
      // Its data may be wrong, and after a restore a load balancer has no other replica to use meanwhile: restart as soon
      // as possible.
      drain = { ...drain, delayMs: 0 };
      return reason;
    });
    return {
      address,
      tlsAddress,
      access,
      hasConsole: (await consoleFolder.files()) !== undefined,
      tokenFile,
      kubeconfig,
      failed,
      stop: () => teardown.run(),
    };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}
