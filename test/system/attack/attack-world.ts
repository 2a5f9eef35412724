import { accessCalls } from '../fuzz/access/access-calls.ts';
import { prepareAccessWorld, type AccessWorld } from '../fuzz/access/access-world.ts';
import { ServerProcess } from '../fuzz/server/server-process.ts';
import { accessService } from '../fuzz/services.ts';
import { freePort } from '../harness/free-port.ts';
import type { ServicePorts } from './proxy.ts';

/** Connections that the server takes: so few that attackers may have more. */
const maxConnections = 2000;
/** Of one address in a minute: so few that a short attack has more. */
const maxWrongCredentials = 300;

export interface AttackWorld extends AccessWorld {
  server: ServerProcess;
  ports: ServicePorts;
  /** Of the content platform, for https. */
  tlsPort: number;
  /** Of the content platform. */
  personalToken: string;
}

/**
 * `svc serve` as it is by default, but for Basic and limits that attackers reach soon, with people who have every
 * credential. Only 127.0.0.1 is a proxy.
 */
export async function startAttackWorld(dataParent: string): Promise<AttackWorld> {
  const [platform, tlsPort] = [await freePort(), await freePort()];
  const options = [
    `--svc.server.port=${platform}`,
    `--svc.server.tls.port=${tlsPort}`,
    '--svc.access.tls.port=0',
    '--svc.security.basic-auth.disabled=false',
    '--svc.http.trusted-proxies=127.0.0.1',
    `--svc.http.max-connections=${maxConnections}`,
    `--svc.http.max-wrong-credentials=${maxWrongCredentials}`,
  ];
  const server = await ServerProcess.start(dataParent, { ...accessService, options });
  try {
    const calls = accessCalls(server.port, (username) =>
      server.command('private-token', 'create', `--user=${username}`),
    );
    const world = await prepareAccessWorld(calls, server.adminPassword);
    return { ...world, server, ports: { platform, access: server.port }, tlsPort, personalToken: server.adminToken };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
