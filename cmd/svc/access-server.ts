import type { Logger } from 'pino';
import { AccessDatabase, accessMigrations, type TokenRoles } from '#pkg/access/index';
import { isStatusError, type Client } from '#pkg/apimachinery/index';
import { clusterRoleType } from '#pkg/apis/index';
import { migrate } from '#pkg/database/index';
import { checkAdminToken } from './check-options.ts';
import { listenForAccess } from './start-access-server.ts';
import { newLogger } from './logger.ts';
import { openAccess, prepareAdministrator } from './open-access.ts';
import { openPlatformDatabase } from './open-storage.ts';
import type { LoadedOptions } from './options/load-options.ts';
import type { Options } from './options/option-table.ts';
import { platformClient } from './platform-client.ts';
import { readTokenFile } from './read-token-file.ts';
import { runUntilSignal, type Running } from './run-until-signal.ts';
import { subjectsByClient } from './subject-check.ts';
import { Teardown } from './teardown.ts';
import { urlOf } from './url-of.ts';

/** For an answer of the content platform. */
const PATIENCE_MS = 5000;

/** Serves access management alone, for a content platform elsewhere, until a signal; returns the exit code. Throws OperatorError where it cannot start. */
export async function accessServer({ options }: LoadedOptions): Promise<number> {
  checkAdminToken(options);
  const log = newLogger(options['svc.log.level']);
  return runUntilSignal(() => startAccess(options, log), { log, drainTimeoutMs: options['svc.server.drain-timeout'] });
}

async function startAccess(options: Options, log: Logger): Promise<Running> {
  const teardown = new Teardown(log);
  try {
    const database = await openPlatformDatabase(options, { log, teardown });
    const server = await listenForAccess(options, { log, teardown });
    await migrate(database, 'access', accessMigrations);
    const accessDatabase = new AccessDatabase(database);
    const tokenFile = await prepareAdministrator(options, { database: accessDatabase, log });
    const token = await readTokenFile(options, 'svc.access.token-file');
    const client = platformClient(options, 'svc.access.api-url', { token });
    teardown.add('client', async () => client.close());
    const access = await openAccess(options, { database: accessDatabase, log, teardown, client, roles: rolesOf(client), isSubject: subjectsByClient(client) });
    server.serve(access);
    teardown.add('requests', server.stop);
    log.info({ accessUrl: urlOf(options['svc.access.host'], server.address), tokenFile }, 'ready');
    return { stop: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

/**
 * Which roles there are is all that can be asked from here: a token may name one that its owner does not have. It opens nothing, as a token's roles
 * only ever take away.
 */
function rolesOf(client: Client): TokenRoles {
  const timed = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(PATIENCE_MS) });
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
