import { MessageChannel } from 'node:worker_threads';
import type { Client } from '#pkg/apimachinery/index';
import { LoopbackClient, MastersAuthorizer } from '#pkg/apiserver/index';
import { PortClient, RestClient, servePort, type PortService, type RestLimits } from '#pkg/client/index';
import { systemMasters } from '#pkg/identity/index';
import type { TestEnv } from '../start-test-env.ts';

/** A client that leads to a test server, and what else there is to know of it. */
export interface OpenDoor {
  client: Client & { close(): void };
  /** What its answers warned of. */
  warnings: string[];
  /** The other side, where the way leads over a port. */
  service?: PortService;
  /** Closes it and whatever it stands on. */
  dispose: () => void;
}

export interface DoorOptions {
  env: TestEnv;
  /** Which of its servers. Default 0. */
  server?: number;
  limits?: Partial<RestLimits>;
}

export interface Door {
  name: string;
  /** Its namespace in the contract, so that doors may share a server. */
  namespace: string;
  open(options: DoorOptions): OpenDoor;
}

export const doors: readonly Door[] = [
  { name: 'loopback', namespace: 'loopback', open: openLoopback },
  { name: 'REST', namespace: 'rest', open: openRest },
  { name: 'port over loopback', namespace: 'port-loopback', open: (options) => overPort(openLoopback(options)) },
  { name: 'port over REST', namespace: 'port-rest', open: (options) => overPort(openRest(options)) },
];

function openLoopback({ env, server = 0 }: DoorOptions): OpenDoor {
  const warnings: string[] = [];
  const user = { name: 'admin', uid: 'admin', groups: [systemMasters] };
  const client = new LoopbackClient({
    registry: env.servers[server]!.registry,
    authorizer: new MastersAuthorizer(),
    user,
    warn: (text) => warnings.push(text),
  });
  return { client, warnings, dispose: () => client.close() };
}

function openRest({ env, server = 0, limits = {} }: DoorOptions): OpenDoor {
  const warnings: string[] = [];
  const client = RestClient.connect({
    url: env.servers[server]!.url,
    token: env.token,
    limits,
    warn: (text) => warnings.push(text),
  });
  return { client, warnings, dispose: () => client.close() };
}

function overPort({ client: inner, warnings, dispose }: OpenDoor): OpenDoor {
  const { port1, port2 } = new MessageChannel();
  const service = servePort({ port: port1, client: inner });
  const client = new PortClient({ port: port2 });
  return {
    client,
    warnings,
    service,
    dispose: () => {
      client.close();
      service.close();
      dispose();
    },
  };
}
