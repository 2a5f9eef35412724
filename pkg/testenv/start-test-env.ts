import { pino, type Logger } from 'pino';
import { Registry } from 'prom-client';
import {
  ApiServer,
  createPlatformRegistry,
  documentEndpoints,
  KeyWorker,
  LoopbackClient,
  MastersAuthorizer,
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
import { createPlatformDatabase } from './platform-database.ts';
import type { TestDatabase, TestDatabaseOptions } from './test-database.ts';

export interface TestEnvOptions {
  /** API servers on the one database. Default 1. */
  replicas?: number;
  /** Of the generated API: shorter intervals, smaller limits. */
  handlers?: Partial<HandlerOptions>;
  /** Of every server. Default silent. */
  log?: Logger;
  /** What goes wrong, and how often, on every server's `client` until `heal`; see FaultyClient. */
  faults?: FaultRates & { seed: number };
  /**
   * What every server serves besides the API, made for each when it can be asked; stopped before its client is closed.
   */
  endpoints?: (server: Pick<TestServer, 'client' | 'registry'>) => TestEndpoints;
  /** PostgreSQL to make the database on. Default: that of the test run. */
  postgres?: TestDatabaseOptions['server'];
}

export interface TestEndpoints {
  groups: Iterable<EndpointGroup>;
  documents?: EndpointDocuments;
  stop?(): Promise<void>;
}

/** One API server as a client sees it. */
export interface TestServer {
  /** `http://127.0.0.1:PORT` */
  url: string;
  store: PostgresStore;
  registry: PlatformRegistry;
  /** The API from within, as the administrator; with `faults`, one on which things go wrong. */
  client: Client;
  /** The same, on which nothing goes wrong. */
  steadyClient: Client;
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
  /** Ends the faults. */
  heal(): void;
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
  const testDatabase = await createPlatformDatabase(options.postgres);
  const servers: TestServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    await testDatabase.drop();
  };
  try {
    for (let i = 0; i < (options.replicas ?? 1); i += 1) {
      const database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
      servers.push(
        await startServer(database, token, {
          ...options,
          ...(options.faults === undefined ? {} : { faults: { ...options.faults, seed: options.faults.seed + i } }),
        }),
      );
    }
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
  return { url: servers[0]!.url, token, connection: testDatabase.connection, servers, request, heal, stop };
}

async function startServer(
  database: Database,
  token: string,
  { handlers = {}, log = pino({ level: 'silent' }), faults, endpoints }: TestEnvOptions,
): Promise<TestServer> {
  const keys = new KeyWorker();
  const store = await PostgresStore.open({ database, log: silentLog, keyEvaluator: keys });
  const registry = await createPlatformRegistry({ store, log, keyChecker: keys });
  const authorizer = new MastersAuthorizer();
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
    authorizer,
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
