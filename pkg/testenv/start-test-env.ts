import { pino, type Logger } from 'pino';
import { Registry } from 'prom-client';
import { ApiServer, createPlatformRegistry, documentEndpoints, LoopbackClient, MastersAuthorizer, type HandlerOptions, type PlatformRegistry } from '#pkg/apiserver/index';
import { Database, silentLog } from '#pkg/database/index';
import { BearerAuthenticator } from '#pkg/http/index';
import { newPersonalToken, systemAuthenticated, systemMasters, type TokenAuthenticator, type UserInfo } from '#pkg/identity/index';
import { PostgresStore } from '#pkg/storage/index';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

export interface TestEnvOptions {
  /** API servers on the one database. Default 1. */
  replicas?: number;
  /** Of the generated API: shorter intervals, smaller limits. */
  handlers?: Partial<HandlerOptions>;
  /** Of every server. Default silent. */
  log?: Logger;
}

/** One API server as a client sees it. */
export interface TestServer {
  /** `http://127.0.0.1:PORT` */
  url: string;
  store: PostgresStore;
  registry: PlatformRegistry;
  /** The API from within, as the administrator. */
  client: LoopbackClient;
  stop(): Promise<void>;
}

/** A database of its own with API servers on it; everything the administrator's `token` may do is everything. */
export interface TestEnv {
  /** The first server's. */
  url: string;
  token: string;
  /** To the database behind them. */
  connection: TestDatabase['connection'];
  servers: TestServer[];
  /** fetch on the first server, with the token; a body that is no string goes as JSON. */
  request(path: string, init?: TestRequest): Promise<Response>;
  stop(): Promise<void>;
}

export interface TestRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
  /** Which server. Default 0. */
  server?: number;
}

/** Starts real servers on the real database of the test run. */
export async function startTestEnv(options: TestEnvOptions = {}): Promise<TestEnv> {
  const token = newPersonalToken();
  const testDatabase = await createTestDatabase();
  const servers: TestServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    await testDatabase.drop();
  };
  try {
    for (let i = 0; i < (options.replicas ?? 1); i += 1) {
      const database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
      servers.push(await startServer(database, token, options));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const request = (path: string, { server = 0, body, headers = {}, ...init }: TestRequest = {}): Promise<Response> =>
    fetch(`${servers[server]!.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...(body === undefined || typeof body === 'string' ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return { url: servers[0]!.url, token, connection: testDatabase.connection, servers, request, stop };
}

async function startServer(database: Database, token: string, { handlers = {}, log = pino({ level: 'silent' }) }: TestEnvOptions): Promise<TestServer> {
  const store = await PostgresStore.open({ database, log: silentLog });
  const registry = await createPlatformRegistry({ store, log });
  const authorizer = new MastersAuthorizer();
  const client = new LoopbackClient({ registry, authorizer, user: admin });
  const server = new ApiServer({ svcVersion: '0.0.0-test', log, metrics: new Registry(), http: { host: '127.0.0.1', port: 0 } });
  server.serve({
    registry,
    store,
    authenticator: new BearerAuthenticator(administrator(token)),
    authorizer,
    endpointGroups: documentEndpoints({ registry, svcVersion: '0.0.0-test' }),
    handlers,
  });
  const { port } = await server.listen();
  const stop = async (): Promise<void> => {
    await server.stop();
    client.close();
    await registry.stop();
    await store.close();
    await database.close();
  };
  return { url: `http://127.0.0.1:${port}`, store, registry, client, stop };
}

const admin: UserInfo = { name: 'admin', uid: 'admin', groups: [systemMasters, systemAuthenticated] };

function administrator(token: string): TokenAuthenticator {
  return {
    authenticateToken: async (given) => (given === token ? admin : undefined),
  };
}
