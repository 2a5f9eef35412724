import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { AccessDatabase, platformCredentialKeyOf, type AccessService } from '#pkg/access/index';
import type { Client } from '#pkg/apimachinery/index';
import { pluginsGroup, pluginUser } from '#pkg/apis/index';
import {
  auditDocument,
  auditEndpoint,
  type Auditor,
  ApiServer,
  createPlatformRegistry,
  documentEndpoints,
  KeyWorker,
  LoopbackClient,
  Maintenance,
  MastersAuthorizer,
  RbacAuthorizer,
  type ApiParts,
  type EndpointDocument,
  type EndpointDocuments,
  type PlatformRegistry,
} from '#pkg/apiserver/index';
import { systemAuthenticated, systemMasters } from '#pkg/identity/index';
import type { WriteMonitor } from '#pkg/database/index';
import { NotReadyError } from '#pkg/http/index';
import type { PluginHost } from '#pkg/plugin/index';
import type { Store } from '#pkg/storage/index';
import { apiHttpOptions } from './api-http-options.ts';
import { newByteBudget } from '../process/byte-budget.ts';
import { ControllerMetrics } from '../metrics/controller-metrics.ts';
import { PlatformMetrics } from '../metrics/platform-metrics.ts';
import { drainTimes, warnOfShortDelay } from '../process/drain-times.ts';
import { openScrapeToken } from './open-scrape-token.ts';
import { MergedAuditLog } from './merged-audit-log.ts';
import { openAudit, openAuditOutput } from './open-audit.ts';
import { addServiceTokens, openAccess, prepareAdministrator } from './open-access.ts';
import { openPlatformDatabase, openStorage, startWriteMonitor, writesCheck } from './open-storage.ts';
import type { Options } from '../options/option-table.ts';
import type { Running } from '../process/run-until-signal.ts';
import { withListenErrors, listenTls, warnWithoutTls } from './listen.ts';
import { listenForAccess, type ListeningAccess } from './start-access-server.ts';
import { platformControllers, type PlatformControllers } from './platform-controllers.ts';
import { mountPluginEndpoints, pluginHostUrl, type PluginMount } from './plugin-endpoints.ts';
import { PluginClients } from './plugin-clients.ts';
import { pluginHost, type Environment } from './start-plugins.ts';
import { bindingCheckByIndex } from './binding-subject-check.ts';
import { svcBuild, svcVersion } from '../process/svc-version.ts';
import { Teardown } from '../process/teardown.ts';
import { openCertificate, registerCertificateMetrics } from '../tls/open-certificate.ts';
import { prepareKubeconfig } from '../tls/prepare-kubeconfig.ts';

const idempotencyKeyAgeMs = 24 * 3_600_000;

export interface Platform extends Running {
  readonly address: AddressInfo;
  /** The https listener, if there is a certificate. */
  readonly tlsAddress: AddressInfo | undefined;
  /** The access management service, if it runs in this process. */
  readonly access: Pick<ListeningAccess, 'address' | 'tlsAddress'> | undefined;
  readonly tokenFile: string;
  /** The kubeconfig file, if this process generates its own certificate. */
  readonly kubeconfig: string | undefined;
}

/** Which parts run in this process next to the API. */
export interface PlatformParts {
  /** The platform's controllers and plugins. */
  controllers: boolean;
  /** A separate listener of the access management service. */
  accessServer: boolean;
  /** Generates a certificate if the options name none, and a kubeconfig file. */
  local: boolean;
  environment: Environment;
}

/** Starts the content platform; resolves once it serves requests. A failed start stops everything it has started. */
export async function startPlatform(options: Options, log: Logger, parts: PlatformParts): Promise<Platform> {
  const teardown = new Teardown(log);
  try {
    warnOfShortDelay(options, log);
    const metrics = new PlatformMetrics(log);
    const database = await openPlatformDatabase(options, {
      log,
      teardown,
      applicationName: 'svc apiserver',
      startTimeoutMs: options['svc.database.start-timeout'],
      observer: metrics.database,
    });
    metrics.database.registerPools(() => database.poolStates());
    const writes = startWriteMonitor(database, { log, teardown });
    metrics.database.registerWrites(writes);
    const byteBudget = newByteBudget(options);
    const scrapeToken = await openScrapeToken(options, log);
    const server = new ApiServer({
      ...svcBuild(),
      log,
      metrics: metrics.registry,
      ...(scrapeToken === undefined ? {} : { scrapeToken }),
      http: { ...apiHttpOptions(options), byteBudget },
    });
    let drain = drainTimes(options);
    const stopServer = (): Promise<void> => server.stop(drain);
    // From here on the process is live; it is ready only at the end, because migrations may take long.
    teardown.add('server', stopServer);
    const at = { host: options['svc.server.host'], port: options['svc.server.port'] };
    const address = await withListenErrors(server.listen(), at, { host: 'svc.server.host', port: 'svc.server.port' });
    warnWithoutTls(address, 'svc.server.host', log);
    const opened = await openCertificate(options, { selfMade: parts.local, log, teardown });
    const certificate = opened?.certificate;
    const tlsAddress =
      certificate === undefined
        ? undefined
        : await listenTls(
            server,
            { host: options['svc.server.tls.host'] ?? at.host, port: options['svc.server.tls.port'], certificate },
            'svc.server',
          );
    if (certificate !== undefined) registerCertificateMetrics(metrics.registry, certificate);
    const accessServer = parts.accessServer
      ? await listenForAccess(options, { log, teardown, certificate, scrapeToken, byteBudget, drain: () => drain })
      : undefined;
    const keys = new KeyWorker();
    const auditOutput = await openAuditOutput(options, { log, metrics, teardown });
    const store = await openStorage(database, options, { log, teardown, observer: metrics.store, keyEvaluator: keys });
    // Stopped after the registry and before the store: callers that wait for keys get an error.
    teardown.add('index keys', () => keys.stop());
    metrics.store.register(store);
    const accessDatabase = new AccessDatabase(database);
    const tokenFile = await prepareAdministrator(options, { database: accessDatabase, log });
    await addServiceTokens(options, { database: accessDatabase, log });
    const kubeconfig =
      parts.local && opened !== undefined && tlsAddress !== undefined
        ? await prepareKubeconfig(options, { opened, tlsAddress, tokenFile, log })
        : undefined;
    const registry = await createPlatformRegistry({
      store,
      log,
      exactTotalLimit: options['svc.api.exact-total-limit'],
      watchObserver: metrics.watches,
      keyChecker: keys,
    });
    metrics.registerModelCount(() => registry.models().length);
    teardown.add('registry', () => registry.stop());
    startMaintenance(options, { store, log, teardown, metrics });
    const auditor = await openAudit(options, { store, output: auditOutput, log, metrics, teardown });
    const client = administrator(registry, { auditor, log, teardown });
    const access = await openAccess(options, {
      database: accessDatabase,
      log,
      teardown,
      client,
      roles: registry.roles,
      isNamedByBinding: bindingCheckByIndex(registry.roles),
    });
    const url = pluginHostUrl(options, address.port);
    const host = parts.controllers
      ? pluginHost(options, {
          client,
          clientOf: pluginClients(registry, { auditor, log, teardown }),
          metrics: metrics.registry,
          url,
          environment: parts.environment,
          log,
        })
      : undefined;
    const plugins = await mountPluginEndpoints(options, { client, models: registry, host, url, log, teardown });
    const controllers = host === undefined ? undefined : prepareControllers(options, { client, host, log, metrics });
    server.serve(apiParts(options, { store, registry, auditor, access, metrics, plugins, writes, controllers }));
    accessServer?.serve(access, writes);
    controllers?.start();
    // A second time, so that it stops before its dependencies; controllers have the same dependencies, and the same
    // time for running work.
    teardown.add(
      'server and controllers',
      async () => void (await Promise.all([stopServer(), accessServer?.stop(), controllers?.stop()])),
    );
    const failed = store.rewound.then(() => {
      // Its data may be wrong, and after a failover a load balancer has no other replica to use meanwhile: restart as
      // soon as possible.
      drain = { ...drain, delayMs: 0 };
      return 'history that this process follows is gone: the database was restored, failed over, or its log compacted too soon';
    });
    return { address, tlsAddress, access: accessServer, tokenFile, kubeconfig, failed, stop: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

function startMaintenance(
  options: Options,
  { store, log, teardown, metrics }: { store: Store; log: Logger; teardown: Teardown; metrics: PlatformMetrics },
): void {
  const limits = {
    minAgeMs: options['svc.storage.log-min-age'],
    maxSizeBytes: options['svc.storage.log-max-size'],
    idempotencyKeyAgeMs,
  };
  metrics.registerLogLimit(limits.maxSizeBytes);
  const auditRetentionDays = options['svc.audit.retention-days'];
  const maintenance = new Maintenance({ store, limits, auditRetentionDays, log, observer: metrics.compacted });
  maintenance.start();
  teardown.add('maintenance', () => maintenance.stop());
}

/** A loopback client with all permissions, for the components of this process. */
function administrator(
  registry: PlatformRegistry,
  { auditor, log, teardown }: { auditor: Auditor; log: Logger; teardown: Teardown },
): LoopbackClient {
  const user = { name: 'system:controller-manager', uid: '', groups: [systemMasters, systemAuthenticated] };
  const client = new LoopbackClient({
    registry,
    authorizer: new MastersAuthorizer(),
    user,
    auditor,
    warn: (text) => log.debug({ warning: text }, 'the API warned a controller'),
  });
  teardown.add('the client of controllers', async () => client.close());
  return client;
}

/** Loopback clients with each plugin's own user. */
function pluginClients(
  registry: PlatformRegistry,
  { auditor, log, teardown }: { auditor: Auditor; log: Logger; teardown: Teardown },
): (plugin: string) => Client {
  const authorizer = new RbacAuthorizer(registry.roles);
  const clients = new PluginClients((plugin) => {
    const user = { name: pluginUser(plugin), uid: '', groups: [pluginsGroup, systemAuthenticated] };
    return new LoopbackClient({
      registry,
      authorizer,
      user,
      auditor,
      warn: (text) => log.debug({ plugin, warning: text }, 'the API warned a plugin'),
    });
  });
  teardown.add('the clients of plugins', async () => clients.close());
  return clients.of;
}

interface ControllerParts {
  client: LoopbackClient;
  host: PluginHost;
  log: Logger;
  metrics: PlatformMetrics;
}

function prepareControllers(options: Options, { client, host, log, metrics }: ControllerParts): PlatformControllers {
  const { delayMs, drainTimeoutMs } = drainTimes(options);
  return platformControllers({
    client,
    log,
    host,
    metrics: new ControllerMetrics(metrics.registry),
    stopTimeoutMs: delayMs + drainTimeoutMs,
  });
}

interface Made {
  store: Store;
  registry: PlatformRegistry;
  auditor: Auditor;
  access: AccessService;
  metrics: PlatformMetrics;
  plugins: PluginMount;
  writes: WriteMonitor;
  controllers: PlatformControllers | undefined;
}

function apiParts(
  options: Options,
  { store, registry, auditor, access, metrics, plugins, writes, controllers }: Made,
): ApiParts {
  const auditEvents = auditEndpoint(new MergedAuditLog(store.audit, access.auditLog));
  const { endpoints: tokenEndpoints, documents: tokenDocuments } = access.personalTokenEndpoints;
  const documents = documentEndpoints({
    registry,
    svcVersion: svcVersion(),
    publicUrl: options['svc.server.public-url'],
    endpoints: withDocuments(plugins.documents, [...tokenDocuments, auditDocument]),
  });
  const requestsPerMinute = options['svc.api.throttle.user'];
  return {
    registry,
    store,
    authenticator: access.platformAuthenticator({
      basic: !options['svc.security.basic-auth.disabled'],
      publicUrl: options['svc.server.public-url'],
      countLookups: (tokens) => metrics.countLookups(tokens),
    }),
    credentialOf: platformCredentialKeyOf,
    verified: access.verified,
    authorizer: new RbacAuthorizer(registry.roles),
    ...(requestsPerMinute === 0 ? {} : { throttle: access.platformThrottle(requestsPerMinute) }),
    auditor,
    reviews: { roles: registry.roles, tokens: access.platformTokens },
    endpointGroups: {
      *[Symbol.iterator]() {
        yield* documents;
        yield tokenEndpoints;
        yield auditEvents;
        yield* plugins.groups;
      },
    },
    readyz: [
      {
        name: 'registry',
        check: () =>
          registry.ready ? Promise.resolve() : Promise.reject(new NotReadyError('the registry is not ready')),
      },
      access.databaseCheck,
      writesCheck(writes),
      plugins.readyz,
      ...(controllers?.readyz ?? []),
    ],
    handlers: {
      maxPageSize: options['svc.api.max-page-size'],
      maxChunkSize: options['svc.api.max-chunk-size'],
      bodyLimit: options['svc.api.max-body-size'],
      bodyTimeoutMs: options['svc.http.body-timeout'],
      watchObserver: metrics.watches,
    },
  };
}

/** The fixed endpoints together with those of plugins. */
function withDocuments(plugins: EndpointDocuments, own: readonly EndpointDocument[]): EndpointDocuments {
  return {
    *documents() {
      yield* own;
      yield* plugins.documents();
    },
    get generation() {
      return plugins.generation;
    },
  };
}
