import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { adminUsername, ensureAdminToken, PersonalTokenAuthenticator, TokenStore } from '#pkg/access/index';
import { ApiServer, createPlatformRegistry, documentEndpoints, LoopbackClient, Maintenance, MastersAuthorizer, type ApiParts, type PlatformRegistry } from '#pkg/apiserver/index';
import { BearerAuthenticator } from '#pkg/http/index';
import { systemAuthenticated, systemMasters } from '#pkg/identity/index';
import type { Store } from '#pkg/storage/index';
import { apiHttpOptions } from './api-http-options.ts';
import { ControllerMetrics } from './metrics/controller-metrics.ts';
import { PlatformMetrics } from './metrics/platform-metrics.ts';
import { openPlatformDatabase, openStorage } from './open-storage.ts';
import type { Options } from './options/option-table.ts';
import type { Running } from './run-until-signal.ts';
import { startControllers } from './start-controllers.ts';
import { explainListenFailure } from './start-failure.ts';
import { svcVersion } from './svc-version.ts';
import { Teardown } from './teardown.ts';

const CLAIM_AGE_MS = 24 * 3_600_000;
/** Of the drain timeout, what is kept back for everything after the last request. */
const LONGEST_AFTERMATH_MS = 5000;

export interface Platform extends Running {
  readonly address: AddressInfo;
  readonly tokenFile: string;
}

/** What runs in one process with the API. */
export interface PlatformParts {
  controllers: boolean;
}

/** Starts the content platform; resolves when it answers. What was begun is stopped again where the start fails. */
export async function startPlatform(options: Options, log: Logger, parts: PlatformParts): Promise<Platform> {
  const teardown = new Teardown(log);
  try {
    const metrics = new PlatformMetrics(log);
    const database = await openPlatformDatabase(options, { log, teardown, observer: metrics.database });
    metrics.database.showPools(() => database.poolStates());
    const server = new ApiServer({ svcVersion: svcVersion(), log, metrics: metrics.registry, http: apiHttpOptions(options) });
    const stopServer = (): Promise<void> => server.stop(drainTimes(options));
    // Alive from here on, ready only at the end: migrations may take their time.
    teardown.add('server', stopServer);
    const address = await listen(server, options);
    const store = await openStorage(database, options, { log, teardown, observer: metrics.store });
    metrics.store.show(store);
    const tokens = new TokenStore(database);
    const tokenFile = await prepareAdminToken(options, tokens, log);
    const registry = await createPlatformRegistry({ store, log, exactTotalLimit: options['svc.api.exact-total-limit'], watchObserver: metrics.watches });
    metrics.showModels(() => registry.models().length);
    teardown.add('registry', () => registry.stop());
    startMaintenance(options, { store, log, teardown, metrics });
    server.serve(apiParts(options, { store, registry, tokens, metrics }));
    const controllers = parts.controllers ? runControllers(options, { registry, log, teardown, metrics }) : undefined;
    // Once more, so that it stops before what it uses; controllers use the same, and have the same time for what is under way.
    teardown.add('server and controllers', async () => void (await Promise.all([stopServer(), controllers?.stop()])));
    return { address, tokenFile, failed: store.rewound.then(() => 'history that this process follows is gone: the database was restored, failed over, or its log compacted too soon'), stop: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function prepareAdminToken(options: Options, tokens: TokenStore, log: Logger): Promise<string> {
  const file = join(options['svc.data.dir'], 'admin-token');
  const outcome = await ensureAdminToken({ tokens, file, initial: options['svc.security.initial-admin-token'] });
  if (outcome === 'written') log.info({ file }, "the administrator's token was written");
  if (outcome === 'foreign') log.warn({ file }, 'the token in this file is not known to the database; remove the file, and the next start makes one');
  return file;
}

function startMaintenance(options: Options, { store, log, teardown, metrics }: { store: Store; log: Logger; teardown: Teardown; metrics: PlatformMetrics }): void {
  const limits = { minAge: options['svc.storage.log-min-age'], maxSize: options['svc.storage.log-max-size'], claimAge: CLAIM_AGE_MS };
  const maintenance = new Maintenance({ store, limits, log, observer: metrics.compacted });
  maintenance.start();
  teardown.add('maintenance', () => maintenance.stop());
}

function runControllers(options: Options, { registry, log, teardown, metrics }: { registry: PlatformRegistry; log: Logger; teardown: Teardown; metrics: PlatformMetrics }): { stop(): Promise<void> } {
  const user = { name: adminUsername, uid: '', groups: [systemMasters, systemAuthenticated] };
  const client = new LoopbackClient({ registry, authorizer: new MastersAuthorizer(), user, warn: (text) => log.debug({ warning: text }, 'a controller was warned') });
  teardown.add('the client of controllers', async () => client.close());
  const { delayMs, drainTimeoutMs } = drainTimes(options);
  return startControllers({ client, log, observerFor: new ControllerMetrics(metrics.registry).observerFor, stopTimeoutMs: delayMs + drainTimeoutMs });
}

interface Made {
  store: Store;
  registry: PlatformRegistry;
  tokens: TokenStore;
  metrics: PlatformMetrics;
}

function apiParts(options: Options, { store, registry, tokens, metrics }: Made): ApiParts {
  return {
    registry,
    store,
    authenticator: new BearerAuthenticator(new PersonalTokenAuthenticator(metrics.countLookups(tokens))),
    authorizer: new MastersAuthorizer(),
    endpointGroups: documentEndpoints({ registry, svcVersion: svcVersion() }),
    readyz: [{ name: 'registry', check: () => (registry.ready ? Promise.resolve() : Promise.reject(new Error('the registry is not ready'))) }],
    handlers: {
      maxPageSize: options['svc.api.max-page-size'],
      maxChunkSize: options['svc.api.max-chunk-size'],
      bodyLimit: options['svc.api.max-body-size'],
      bodyTimeoutMs: options['svc.http.body-timeout'],
      watchObserver: metrics.watches,
    },
  };
}

async function listen(server: ApiServer, options: Options): Promise<AddressInfo> {
  try {
    return await server.listen();
  } catch (error) {
    throw explainListenFailure(error, { host: options['svc.server.host'], port: options['svc.server.port'] });
  }
}

/** The delay is at most half of what there is. */
function drainTimes(options: Options): { delayMs: number; drainTimeoutMs: number } {
  const all = options['svc.server.drain-timeout'];
  const forRequests = all - Math.min(LONGEST_AFTERMATH_MS, all / 2);
  const delayMs = Math.min(options['svc.server.shutdown-delay'], forRequests / 2);
  return { delayMs, drainTimeoutMs: forRequests - delayMs };
}
