import { pino, type Logger } from 'pino';
import { Registry } from 'prom-client';
import {
  ApiServer,
  createPlatformRegistry,
  documentEndpoints,
  KeyWorker,
  LoopbackClient,
  MastersAuthorizer,
  RbacAuthorizer,
  type EndpointDocuments,
  type HandlerOptions,
  type PlatformRegistry,
} from '#pkg/apiserver/index';
import type { Client } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { BearerAuthenticator, type EndpointGroup } from '#pkg/http/index';
import {
  newPersonalToken,
  systemAuthenticated,
  systemMasters,
  type TokenAuthenticator,
  type UserInfo,
} from '#pkg/identity/index';
import { PostgresStore } from '#pkg/storage/index';
import { FaultyClient, type FaultRates } from './faults/faulty-client.ts';
import { testSealer } from './test-sealer.ts';
import { createPlatformDatabase } from './platform-database.ts';
import type { TestDatabase, TestDatabaseOptions } from './test-database.ts';

export interface TestEnvOptions {
  /** Number of API servers on the database. Default 1. */
  replicas?: number;
  /** Options of the generated API: shorter intervals, smaller limits. */
  handlers?: Partial<HandlerOptions>;
  /** The log of every server. Default silent. */
  log?: Logger;
  /** Faults of every server's `client` until `heal`; see FaultyClient. */
  faults?: FaultRates & { seed: number };
  /**
   * Endpoints that every server serves next to the API: created once the server is ready, and stopped before its client
   * is closed.
   */
  endpoints?: (server: Pick<TestServer, 'client' | 'registry'>) => TestEndpoints;
  /** The PostgreSQL server for the database. Default: that of the test run. */
  postgres?: TestDatabaseOptions['server'];
}

export interface TestEndpoints {
  groups: Iterable<EndpointGroup>;
  documents?: EndpointDocuments;
  stop?(): Promise<void>;
}

/** One API server. */
export interface TestServer {
  /** `http://127.0.0.1:PORT` */
  url: string;
  store: PostgresStore;
  registry: PlatformRegistry;
  /** A client within the server's process, as the administrator; with `faults`, it has them. */
  client: Client;
  /** The same, without faults. */
  steadyClient: Client;
  stop(): Promise<void>;
}

/** A separate database with API servers; the administrator's `token` has all permissions. */
export interface TestEnv {
  /** The URL of the first server. */
  url: string;
  token: string;
  /** Connection to the database. */
  connection: TestDatabase['connection'];
  servers: TestServer[];
  /** fetch on the first server, with the token; a body that is not a string is sent as JSON. */
  request(path: string, init?: TestRequest): Promise<Response>;
  /** Ends the faults. */
  heal(): void;
  /** Another API server on the database, which is not among `servers`; stop it before the environment. */
  startServer(): Promise<TestServer>;
  stop(): Promise<void>;
}

export interface TestRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
  /** Index of the server. Default 0. */
  server?: number;
}

/** Starts real servers on the PostgreSQL of the test run. */
export async function startTestEnv(options: TestEnvOptions = {}): Promise<TestEnv> {
  const token = newPersonalToken();
  const testDatabase = await createPlatformDatabase(options.postgres);
  const servers: TestServer[] = [];
  const startNext = async (seedOffset: number): Promise<TestServer> => {
    const database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
    return startServer(database, token, {
      ...options,
      ...(options.faults === undefined
        ? {}
        : { faults: { ...options.faults, seed: options.faults.seed + seedOffset } }),
    });
  };
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    await testDatabase.drop();
  };
  try {
    for (let i = 0; i < (options.replicas ?? 1); i += 1) servers.push(await startNext(i));
  } catch (error) {
    await stop();
    throw error;
  }
  const request = (path: string, { server = 0, body, headers = {}, ...init }: TestRequest = {}): Promise<Response> =>
    fetch(`${servers[server]!.url}${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined || typeof body === 'string' ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const heal = (): void => {
    for (const { client } of servers) if (client instanceof FaultyClient) client.heal();
  };
  return {
    url: servers[0]!.url,
    token,
    connection: testDatabase.connection,
    servers,
    request,
    heal,
    startServer: () => startNext(servers.length),
    stop,
  };
}

async function startServer(
  database: Database,
  token: string,
  { handlers = {}, log = pino({ level: 'silent' }), faults, endpoints }: TestEnvOptions,
): Promise<TestServer> {
  const keys = new KeyWorker();
  const store = await PostgresStore.open({ database, log: silentLog, keyEvaluator: keys });
  const registry = await createPlatformRegistry({ store, log, keyChecker: keys, sealer: testSealer });
  const authorizer = new MastersAuthorizer();
  const ofPages = new RbacAuthorizer(registry.roles);
  const steadyClient = new LoopbackClient({ registry, authorizer, user: admin });
  const client =
    faults === undefined ? steadyClient : new FaultyClient({ client: steadyClient, seed: faults.seed, rates: faults });
  const others: TestEndpoints = endpoints?.({ client, registry }) ?? { groups: [] };
  const documents = documentEndpoints({
    registry,
    svcVersion: '0.0.0-test',
    ...(others.documents === undefined ? {} : { endpoints: others.documents }),
  });
  const server = new ApiServer({
    svcVersion: '0.0.0-test',
    log,
    metrics: new Registry(),
    http: { host: '127.0.0.1', port: 0 },
  });
  server.serve({
    registry,
    store,
    authenticator: new BearerAuthenticator(administrator(token)),
    authorizer: {
      authorize: (attributes) => (attributes.user.page === undefined ? authorizer : ofPages).authorize(attributes),
    },
    pages: registry.roles,
    endpointGroups: {
      *[Symbol.iterator]() {
        yield* documents;
        yield* others.groups;
      },
    },
    handlers,
  });
  const { port } = await server.listen();
  const stop = async (): Promise<void> => {
    await server.stop();
    await others.stop?.();
    steadyClient.close();
    await registry.stop();
    await keys.stop();
    await store.close();
    await database.close();
  };
  return { url: `http://127.0.0.1:${port}`, store, registry, client, steadyClient, stop };
}

const admin: UserInfo = { name: 'admin', uid: 'admin', groups: [systemMasters, systemAuthenticated] };

function administrator(token: string): TokenAuthenticator {
  return {
    authenticateToken: async (given) => (given === token ? admin : undefined),
  };
}
