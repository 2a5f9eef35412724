import { prepareAccessUsers, type AccessUsers } from '../harness/client/access-users.ts';
import { ApiServer } from '../harness/process/api-server.ts';
import { PostgresProcess, unsafeSettings } from '../harness/process/postgres-process.ts';
import type { ServicePorts } from './proxy.ts';

/** The server's connection limit: so low that attackers exceed it. */
const maxConnections = 2000;
/** Per address and minute: so low that a short attack exceeds it. */
const maxWrongCredentials = 300;

export interface AttackFixtures extends AccessUsers {
  server: ApiServer;
  ports: ServicePorts;
  /** The platform's https port. */
  tlsPort: number;
  /** For the content platform. */
  personalToken: string;
  stop(): Promise<void>;
}

/**
 * `svc serve` with defaults, except for Basic and low limits, and users with every kind of credential. Only 127.0.0.1
 * is a proxy.
 */
export async function startAttackFixtures(dataParent: string): Promise<AttackFixtures> {
  const postgres = await PostgresProcess.start({ parent: dataParent, settings: unsafeSettings });
  let server: ApiServer | undefined;
  const stop = async (): Promise<void> => {
    await server?.stop();
    await postgres.stop();
  };
  try {
    server = await ApiServer.start({
      command: 'serve',
      parent: postgres.folder,
      databaseUrl: postgres.url(),
      args: [
        '--svc.log.level=warn',
        '--svc.security.basic-auth.disabled=false',
        '--svc.http.trusted-proxies=127.0.0.1',
        `--svc.http.max-connections=${maxConnections}`,
        `--svc.http.max-wrong-credentials=${maxWrongCredentials}`,
      ],
    });
    const users = await prepareAccessUsers(server);
    const { port: platform, accessPort: access, tlsPort, token: personalToken } = server;
    return { ...users, server, ports: { platform, access }, tlsPort, personalToken, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
