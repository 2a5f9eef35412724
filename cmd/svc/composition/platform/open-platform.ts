import type { Logger } from 'pino';
import { AccessDatabase, ObjectSealer, type AccessService } from '#pkg/access/index';
import type { Client } from '#pkg/apimachinery/index';
import { pluginsGroup, pluginUser } from '#pkg/apis/index';
import {
  createPlatformRegistry,
  KeyWorker,
  LoopbackClient,
  Maintenance,
  MastersAuthorizer,
  RbacAuthorizer,
  type ApiParts,
  type Auditor,
  type AuditOutput,
  type ConsoleFolder,
  type PlatformRegistry,
} from '#pkg/apiserver/index';
import type { Database, WriteMonitor } from '#pkg/database/index';
import { systemAuthenticated, systemMasters } from '#pkg/identity/index';
import type { PluginHost } from '#pkg/plugin/index';
import type { Rewind, Store } from '#pkg/storage/index';
import type { ControllerMetrics } from '../../metrics/controller-metrics.ts';
import type { PlatformMetrics } from '../../metrics/platform-metrics.ts';
import type { PluginMetrics } from '../../metrics/plugin-metrics.ts';
import type { Options } from '../../options/option-table.ts';
import { drainTimes } from '../../process/drain-times.ts';
import { Teardown } from '../../process/teardown.ts';
import { bindingCheckByIndex } from '../binding-subject-check.ts';
import { addServiceTokens, openAccess, prepareAdministrator } from '../open-access.ts';
import { openAudit } from '../open-audit.ts';
import { openServerSecrets } from '../open-secrets.ts';
import { openStorage, standbyCheck } from '../open-storage.ts';
import { platformControllers, type PlatformControllers } from '../platform-controllers.ts';
import { PluginClients } from '../plugin-clients.ts';
import { mountPluginEndpoints } from '../plugin-endpoints.ts';
import { pluginHost, type Environment } from '../start-plugins.ts';
import type { WorkerContext } from '../worker-context.ts';
import { apiParts } from './api-parts.ts';

const idempotencyKeyAgeMs = 24 * 3_600_000;

/** What stays while the platform is closed and opened again. */
export interface PlatformGround {
  database: Database;
  /** A standby that answers reads. */
  readDatabase?: Database | undefined;
  writes: WriteMonitor;
  auditOutput: AuditOutput | undefined;
  metrics: PlatformMetrics;
  /** Set if this process runs the platform's controllers and plugins. */
  controllers: { metrics: ControllerMetrics; pluginMetrics: PluginMetrics; environment: Environment } | undefined;
  /** The URL of this process for other API servers. */
  url: string;
  consoleFolder: ConsoleFolder;
  /** If this is one of several workers. */
  worker: WorkerContext | undefined;
  log: Logger;
}

/** All that is built from the store: models, roles, quotas, caches, access management, controllers and plugins. */
export interface OpenPlatform {
  readonly api: ApiParts;
  readonly access: AccessService;
  /** The administrator's token. */
  readonly tokenFile: string;
  /** See `Store.rewound`. */
  readonly rewound: Promise<Rewind>;
  startControllers(): void;
  /** Stops the controllers, and with them the plugins; first, because they use all the rest. Never rejects. */
  stopControllers(): Promise<void>;
  /** Stops the rest; true if everything stopped without an error. */
  stop(): Promise<boolean>;
}

/** Opens the platform, with its controllers not started yet. If that fails, it stops everything that it has opened. */
export async function openPlatform(options: Options, ground: PlatformGround): Promise<OpenPlatform> {
  const { database, readDatabase, writes, auditOutput, metrics, url, worker, log } = ground;
  const connections = worker?.connections;
  const teardown = new Teardown(log);
  try {
    const keys = new KeyWorker();
    const store = await openStorage(database, options, {
      log,
      teardown,
      observer: metrics.store,
      keyEvaluator: keys,
      connections,
      readDatabase,
    });
    // Stopped after the registry and before the store: callers that wait for keys get an error.
    teardown.add('index keys', () => keys.stop());
    metrics.store.register(store);
    const accessDatabase = new AccessDatabase(
      database,
      connections === undefined ? {} : { poolSize: connections.access },
    );
    teardown.add('database of access management', () => accessDatabase.close());
    const tokenFile = await prepareAdministrator(options, { database: accessDatabase, log });
    await addServiceTokens(options, { database: accessDatabase, log });
    const keyRing = await openServerSecrets(accessDatabase, options, log);
    const registry = await createPlatformRegistry({
      store,
      log,
      exactTotalLimit: options['svc.api.exact-total-limit'],
      watchObserver: metrics.watches,
      keyChecker: keys,
      webhooks: {
        allowedHosts: options['svc.webhooks.allowed-hosts'],
        allowedNetworks: options['svc.webhooks.allowed-networks'],
        timeoutMs: options['svc.webhooks.timeout'],
      },
      webhookObserver: metrics.webhookCalled,
      sealer: new ObjectSealer(keyRing),
    });
    metrics.registerModelCount(() => registry.models().length);
    teardown.add('registry', () => registry.stop());
    startMaintenance(options, { store, log, teardown, metrics });
    const auditor = await openAudit(options, { store, output: auditOutput, log, metrics, teardown });
    const client = administrator(registry, { auditor, log, teardown });
    const access = openAccess(options, {
      database: accessDatabase,
      keys: keyRing,
      log,
      teardown,
      client,
      roles: registry.roles,
      isNamedByBinding: bindingCheckByIndex(registry.roles),
      worker,
    });
    const host =
      ground.controllers === undefined
        ? undefined
        : pluginHost(options, {
            client,
            clientOf: pluginClients(registry, { auditor, log, teardown }),
            metrics: ground.controllers.pluginMetrics,
            url,
            environment: ground.controllers.environment,
            log,
          });
    const plugins = await mountPluginEndpoints(options, {
      client,
      models: registry,
      host,
      url,
      worker,
      log,
      teardown,
    });
    const controllers =
      ground.controllers === undefined || host === undefined
        ? undefined
        : prepareControllers(options, { client, host, log, metrics: ground.controllers.metrics, worker });
    return {
      api: apiParts(options, {
        store,
        registry,
        auditor,
        access,
        metrics,
        plugins,
        writes,
        controllers,
        consoleFolder: ground.consoleFolder,
        worker,
        ...(readDatabase === undefined ? {} : { standby: standbyCheck(() => store.state().standby) }),
      }),
      access,
      tokenFile,
      rewound: store.rewound,
      startControllers: () => controllers?.start(),
      stopControllers: async () => controllers?.stop(),
      stop: () => teardown.run(),
    };
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
      fieldManager: plugin,
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
  metrics: ControllerMetrics;
  worker: WorkerContext | undefined;
}

function prepareControllers(
  options: Options,
  { client, host, log, metrics, worker }: ControllerParts,
): PlatformControllers {
  const { delayMs, drainTimeoutMs } = drainTimes(options);
  return platformControllers({
    client,
    log,
    host,
    metrics,
    ...(worker === undefined ? {} : { identity: worker.hostIdentity, isGone: worker.isGone }),
    stopTimeoutMs: delayMs + drainTimeoutMs,
  });
}
