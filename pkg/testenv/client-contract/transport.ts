import { MessageChannel } from 'node:worker_threads';
import type { Client } from '#pkg/apimachinery/index';
import { LoopbackClient, MastersAuthorizer } from '#pkg/apiserver/index';
import { PortClient, RestClient, servePort, type PortService, type RestLimits } from '#pkg/client/index';
import { systemMasters } from '#pkg/identity/index';
import type { TestEnv } from '../start-test-env.ts';

/** A client of a test server, and what the contract needs to know about it. */
export interface OpenTransport {
  client: Client & { close(): void };
  /** The warnings in its responses. */
  warnings: string[];
  /** The other end of the message port, if the transport uses one. */
  service?: PortService;
  /** Closes the client and everything opened for it. */
  dispose: () => void;
}

export interface TransportOptions {
  env: TestEnv;
  /** Index of the server to connect to. Default 0. */
  server?: number;
  limits?: Partial<RestLimits>;
}

export interface ClientTransport {
  name: string;
  /** The namespace that its cases use, so that transports can share a server. */
  namespace: string;
  open(options: TransportOptions): OpenTransport;
}

export const directTransports: readonly ClientTransport[] = [
  { name: 'loopback', namespace: 'loopback', open: openLoopback },
  { name: 'REST', namespace: 'rest', open: openRest },
];

/** The same through the port of a plugin's worker. */
export const portTransports: readonly ClientTransport[] = [
  { name: 'port over loopback', namespace: 'port-loopback', open: (options) => overPort(openLoopback(options)) },
  { name: 'port over REST', namespace: 'port-rest', open: (options) => overPort(openRest(options)) },
];

export const transports: readonly ClientTransport[] = [...directTransports, ...portTransports];

function openLoopback({ env, server = 0 }: TransportOptions): OpenTransport {
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

function openRest({ env, server = 0, limits = {} }: TransportOptions): OpenTransport {
  const warnings: string[] = [];
  const client = RestClient.connect({
    url: env.servers[server]!.url,
    token: env.token,
    limits,
    warn: (text) => warnings.push(text),
  });
  return { client, warnings, dispose: () => client.close() };
}

function overPort({ client: inner, warnings, dispose }: OpenTransport): OpenTransport {
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
