import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { AccessDatabase, accessMigrations, type AccessService, type TokenRoles } from '#pkg/access/index';
import { isStatusError, type Client } from '#pkg/apimachinery/index';
import { clusterRoleType } from '#pkg/apis/index';
import { RestClient } from '#pkg/client/index';
import { migrate, type Database } from '#pkg/database/index';
import { checkTokens } from '../options/check-options.ts';
import { warnOfShortDelay } from '../process/drain-times.ts';
import { checkFileModes } from '../composition/file-modes.ts';
import { listenForAccess } from '../composition/start-access-server.ts';
import { newLogger } from '../process/logger.ts';
import { DatabaseMetrics } from '../metrics/database-metrics.ts';
import { addServiceTokens, openAccess, prepareAdministrator } from '../composition/open-access.ts';
import { openServerSecrets } from '../composition/open-secrets.ts';
import { openScrapeToken } from '../composition/open-scrape-token.ts';
import { openPlatformDatabase, startWithDatabase, startWriteMonitor } from '../composition/open-storage.ts';
import type { LoadedOptions } from '../options/load-options.ts';
import type { Options } from '../options/option-table.ts';
import { platformServer } from '../composition/platform-server.ts';
import { readTokenFile } from '../composition/read-token-file.ts';
import { runUntilSignal, type Running } from '../process/run-until-signal.ts';
import { bindingCheckByClient } from '../composition/binding-subject-check.ts';
import { Teardown } from '../process/teardown.ts';
import { openCertificate } from '../tls/open-certificate.ts';
import { urlOf } from '../process/browser-url.ts';
import { svcVersion } from '../process/svc-version.ts';

/** Timeout of a request to the content platform. Milliseconds. */
const timeoutMs = 5000;

/**
 * Serves access management alone, for a content platform in another process, until a signal; returns the exit code.
 * Throws OperatorError if it cannot start.
 */
export async function accessServer(loaded: LoadedOptions): Promise<number> {
  const { options } = loaded;
  checkTokens(options);
  const log = newLogger(options);
  await checkFileModes(loaded, { runsPlugins: false, log });
  return runUntilSignal(() => startAccess(options, log), { log, drainTimeoutMs: options['svc.server.drain-timeout'] });
}

async function startAccess(options: Options, log: Logger): Promise<Running> {
  const teardown = new Teardown(log);
  try {
    warnOfShortDelay(options, log);
    const metrics = new Registry();
    const observer = new DatabaseMetrics(metrics);
    const database = await openPlatformDatabase(options, {
      log,
      teardown,
      applicationName: 'svc access-server',
      startTimeoutMs: options['svc.database.start-timeout'],
      observer,
    });
    observer.registerPools(() => database.poolStates());
    const writes = startWriteMonitor(database, { log, teardown });
    observer.registerWrites(writes);
    const opened = await openCertificate(options, { selfMade: false, log, teardown });
    const server = await listenForAccess(options, {
      log,
      teardown,
      certificate: opened?.certificate,
      scrapeToken: await openScrapeToken(options, log),
      metrics,
    });
    const { access, tokenFile } = await startWithDatabase(options, log, () =>
      openService(options, { database, log, teardown }),
    );
    server.serve(access, writes);
    teardown.add('requests', server.stop);
    const host = options['svc.access.host'];
    const accessTlsUrl =
      server.tlsAddress === undefined
        ? undefined
        : urlOf(options['svc.access.tls.host'] ?? host, server.tlsAddress, 'https');
    log.info(
      {
        accessUrl: urlOf(host, server.address),
        ...(accessTlsUrl === undefined ? {} : { accessTlsUrl }),
        tokenFile,
        version: svcVersion(),
      },
      'ready',
    );
    return { stop: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

interface OpenedService {
  readonly access: AccessService;
  /** The administrator's token. */
  readonly tokenFile: string;
}

/** Opens access management; the teardown stops it. If that fails, it stops everything that it has opened. */
async function openService(
  options: Options,
  { database, log, teardown }: { database: Database; log: Logger; teardown: Teardown },
): Promise<OpenedService> {
  const opened = new Teardown(log);
  try {
    await migrate(database, 'access', accessMigrations);
    const accessDatabase = new AccessDatabase(database);
    opened.add('database of access management', () => accessDatabase.close());
    const tokenFile = await prepareAdministrator(options, { database: accessDatabase, log });
    await addServiceTokens(options, { database: accessDatabase, log });
    const token = await readTokenFile(options, 'svc.access.token-file');
    const client = RestClient.connect({ ...platformServer(options, 'svc.access', log), token });
    opened.add('client', async () => client.close());
    const access = openAccess(options, {
      database: accessDatabase,
      keys: await openServerSecrets(accessDatabase, options, log),
      log,
      teardown: opened,
      client,
      roles: rolesOf(client),
      isNamedByBinding: bindingCheckByClient(client),
    });
    teardown.add('access management', async () => {
      if (!(await opened.run())) throw new Error('a part of access management did not stop cleanly');
    });
    return { access, tokenFile };
  } catch (error) {
    await opened.run();
    throw error;
  }
}

/**
 * Accepts any existing role, because this process cannot find a user's roles: a token may name a role that its owner
 * does not have. That grants nothing, because a token's roles only restrict.
 */
function rolesOf(client: Client): TokenRoles {
  const timed = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(timeoutMs) });
  return {
    hasRole: async (_user, clusterRole) => {
      try {
        await client.get(clusterRoleType, { namespace: '', name: clusterRole }, timed());
        return true;
      } catch (error) {
        if (isStatusError(error, 'NotFound') || isStatusError(error, 'BadRequest')) return false;
        throw error;
      }
    },
    rolesOf: async () => (await client.list(clusterRoleType, timed())).items.map(({ metadata }) => metadata.name ?? ''),
  };
}
