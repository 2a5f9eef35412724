import { pino } from 'pino';
import { newServiceUnavailable, type Client } from '#pkg/apimachinery/index';
import { pluginType, type Plugin, type PluginEndpoint, type PluginStatus } from '#pkg/apis/index';
import {
  ByteBudget,
  chain,
  expressHandler,
  HttpServer,
  withRequestId,
  withStatus,
  type EndpointGroup,
} from '#pkg/http/index';
import type { Log } from '#pkg/runtime/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import type { EndpointCall, EndpointHost, EndpointResult } from './endpoint-call.ts';
import { hostEndpoints } from './host-endpoints.ts';
import { HttpForwarder } from './http-forwarder.ts';
import { PluginEndpoints } from './plugin-endpoints.ts';
import { CallVerifier } from './signature/call-verifier.ts';
import { ServerIdentity } from './signature/server-identity.ts';
import { ServerKeys } from './signature/server-keys.ts';

export const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type TestHandler = (call: EndpointCall, signal: AbortSignal) => Promise<EndpointResult>;

/** A host whose handlers are functions of the test; it records the calls. */
export class TestEndpointHost implements EndpointHost {
  readonly handlers = new Map<string, TestHandler>();
  calls: EndpointCall[] = [];

  call(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    this.calls.push(call);
    const handler = this.handlers.get(`${call.plugin}.${call.operationId}`);
    if (handler === undefined) return Promise.reject(newServiceUnavailable('the plugin does not run here'));
    return handler(call, signal);
  }
}

/** One of the API servers, and the dependencies of its forwarder. */
export interface TestMount {
  identity: ServerIdentity;
  endpoints: PluginEndpoints;
}

export interface TestEndpointEnv {
  env: TestEnv;
  host: TestEndpointHost;
  /** URL of the process that hosts. */
  hostUrl: string;
  hostBudget: ByteBudget;
  mounts: TestMount[];
  client: Client;
  /** Creates a plugin, or changes its status. */
  set(name: string, status: PluginStatus): Promise<void>;
  ask(path: string, request?: TestAsk): Promise<Response>;
  /** The same, with the response body as JSON. */
  asked(path: string, request?: TestAsk): Promise<{ status: number; body: unknown; headers: Headers }>;
  stop(): Promise<void>;
}

export interface TestAsk {
  server?: number;
  method?: string;
  headers?: Record<string, string>;
  /** Sent as JSON unless it is a text. */
  body?: unknown;
  signal?: AbortSignal;
  /** Default: anonymous. */
  asAdmin?: boolean;
}

/**
 * Starts API servers that mount endpoints, and a host that they reach over HTTP; with `isLocal` the first server hosts
 * them itself.
 */
export async function startTestEndpoints({
  replicas = 1,
  isLocal = false,
}: { replicas?: number; isLocal?: boolean } = {}): Promise<TestEndpointEnv> {
  const host = new TestEndpointHost();
  const mounts: TestMount[] = [];
  const env = await startTestEnv({
    replicas,
    endpoints: ({ client, registry }) => {
      const identity = new ServerIdentity({ client, log: silent, hostname: 'test' });
      const forward = new HttpForwarder({ signer: identity, log: silent });
      const endpoints = new PluginEndpoints({
        client,
        log: silent,
        models: registry,
        forward,
        body: { maxBytes: 100_000 },
        ...(isLocal && mounts.length === 0 ? { local: () => host } : {}),
      });
      identity.start();
      endpoints.start();
      mounts.push({ identity, endpoints });
      return {
        groups: endpoints.groups,
        documents: endpoints,
        stop: async () => {
          await Promise.all([endpoints.stop(), identity.stop()]);
          forward.close();
        },
      };
    },
  });
  const { client } = env.servers[0]!;
  const groups: EndpointGroup[] = [];
  const hostBudget = new ByteBudget({ total: 2 ** 25, parsed: 2 ** 25 });
  const server = new HttpServer({
    handler: chain([withRequestId(), withStatus()], expressHandler(groups)),
    log: pino({ level: 'silent' }),
    memory: { budget: hostBudget },
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const hostUrl = `http://127.0.0.1:${port}`;
  groups.push(hostEndpoints({ host, verifier: new CallVerifier({ keys: new ServerKeys({ client }), host: hostUrl }) }));
  const ask = (path: string, request: TestAsk = {}): Promise<Response> => send(env, path, request);
  return {
    env,
    ask,
    asked: async (path, request) => {
      const answer = await ask(path, request);
      const text = await answer.text();
      return {
        status: answer.status,
        headers: answer.headers,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      };
    },
    host,
    mounts,
    client,
    hostUrl,
    hostBudget,
    set: (name, status) => setStatus(client, name, status),
    stop: async () => {
      await server.close({ drainTimeoutMs: 1000 });
      await env.stop();
    },
  };
}

function send(
  env: TestEnv,
  path: string,
  { server = 0, asAdmin = false, headers = {}, body, ...init }: TestAsk,
): Promise<Response> {
  return fetch(`${env.servers[server]!.url}${path}`, {
    ...init,
    headers: {
      ...(asAdmin ? { authorization: `Bearer ${env.token}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

async function setStatus(client: Client, name: string, status: PluginStatus): Promise<void> {
  const fresh: Plugin = {
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name },
    spec: { version: '1.0.0' },
  };
  const found = await client.get(pluginType, { namespace: '', name }).catch(() => client.create(pluginType, fresh));
  await client.updateStatus(pluginType, { ...found, status });
}

/** Polls until it holds. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  await pollUntil(holds);
}

export function endpoint(facts: Partial<PluginEndpoint>): PluginEndpoint {
  return {
    audience: 'public',
    group: 'blog.example.com',
    version: 'v1',
    method: 'GET',
    path: '/posts',
    operationId: 'listPosts',
    ...facts,
  };
}
