import { platformCredentialKeyOf, type AccessService } from '#pkg/access/index';
import {
  auditDocument,
  auditEndpoint,
  consoleEndpoints,
  documentEndpoints,
  RbacAuthorizer,
  streamDocument,
  type ApiParts,
  type Auditor,
  type ConsoleFolder,
  type EndpointDocument,
  type EndpointDocuments,
  type PlatformRegistry,
} from '#pkg/apiserver/index';
import type { WriteMonitor } from '#pkg/database/index';
import { NotReadyError, ServiceUrl, type HealthCheck } from '#pkg/http/index';
import type { Store } from '#pkg/storage/index';
import type { PlatformMetrics } from '../../metrics/platform-metrics.ts';
import type { Options } from '../../options/option-table.ts';
import { svcVersion } from '../../process/svc-version.ts';
import { apiHttpOptions } from '../api-http-options.ts';
import { MergedAuditLog } from '../merged-audit-log.ts';
import { writesCheck } from '../open-storage.ts';
import type { PlatformControllers } from '../platform-controllers.ts';
import type { PluginMount } from '../plugin-endpoints.ts';
import type { WorkerContext } from '../worker-context.ts';

export interface OpenedParts {
  store: Store;
  registry: PlatformRegistry;
  auditor: Auditor;
  access: AccessService;
  metrics: PlatformMetrics;
  plugins: PluginMount;
  writes: WriteMonitor;
  controllers: PlatformControllers | undefined;
  consoleFolder: ConsoleFolder;
  worker: WorkerContext | undefined;
  /** The check of the standby that answers reads. */
  standby?: HealthCheck;
}

/** The parts of an API server, from those that are open. */
export function apiParts(
  options: Options,
  {
    store,
    registry,
    auditor,
    access,
    metrics,
    plugins,
    writes,
    controllers,
    consoleFolder,
    worker,
    standby,
  }: OpenedParts,
): ApiParts {
  const auditEvents = auditEndpoint(new MergedAuditLog(store.audit, access.auditLog));
  const { endpoints: tokenEndpoints, documents: tokenDocuments } = access.personalTokenEndpoints;
  const documents = documentEndpoints({
    registry,
    svcVersion: svcVersion(),
    publicUrl: options['svc.server.public-url'],
    endpoints: withDocuments(plugins.documents, [...tokenDocuments, auditDocument, streamDocument]),
  });
  const url = new ServiceUrl(apiHttpOptions(options).proxies, options['svc.server.public-url']);
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
    pages: registry.roles,
    ...(requestsPerMinute === 0 ? {} : { throttle: access.platformThrottle(requestsPerMinute) }),
    auditor,
    reviews: { roles: registry.roles, tokens: access.platformTokens },
    endpointGroups: {
      *[Symbol.iterator]() {
        yield* documents;
        yield tokenEndpoints;
        yield auditEvents;
        yield* consoleEndpoints(consoleFolder, { url });
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
      ...(standby === undefined ? [] : [standby]),
      plugins.readyz,
      ...(worker === undefined ? [] : [worker.readyz]),
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
