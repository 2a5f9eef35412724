import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { pino, type Logger } from 'pino';
import { Registry as MetricsRegistry } from 'prom-client';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { ServiceUrl, TrustedProxies, type ByteBudget, type Throttle } from '#pkg/http/index';
import { createTestDatabase, templateDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { AccessDatabase } from '../access-database.ts';
import { AccessServer } from '../access-server.ts';
import { Audit } from '../audit/audit.ts';
import type { Credential } from '../http/credential.ts';
import type { Operation } from '../operations/operation.ts';
import { accessMigrations } from '../migrations.ts';
import { Principals } from '../principals/principals.ts';
import { addUser, type TestUser } from './add-user.ts';
import { testCredential } from './test-credential.ts';

/** The parts of a replica; each has its own. */
export interface AccessTestParts {
  database: Database;
  access: AccessDatabase;
  audit: Audit;
  principals: Principals;
  log: Logger;
}

export interface AccessTestOptions {
  operations: (parts: AccessTestParts) => readonly Operation[] | Promise<readonly Operation[]>;
  /** Default: `Authorization: Bearer <user id>`. */
  credentials?: (parts: AccessTestParts) => readonly Credential[];
  /** Default: everything passes. */
  throttle?: (parts: AccessTestParts) => Throttle;
  /** Default none. */
  trustedProxies?: readonly string[];
  /** Default: from the headers of clients and trusted proxies. */
  publicUrl?: string;
  /** Default none. */
  allowedOrigins?: readonly string[];
  /** Maximum concurrent requests; another one is refused at once. Default: no limit. */
  maxInFlight?: number;
  /** Default: nothing is counted. */
  byteBudget?: ByteBudget;
}

export interface AccessAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body; undefined if it is not JSON. */
  json: unknown;
}

export interface AccessRequestOptions {
  /** User id, for the default credential. */
  as?: string | undefined;
  /** A string or bytes are sent unchanged, anything else as JSON. */
  body?: unknown;
  headers?: OutgoingHttpHeaders;
}

/** One access server, over HTTP. */
export interface AccessReplica extends AccessTestParts {
  readonly port: number;
  readonly metrics: MetricsRegistry;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Sends a request on its own connection, with the path unchanged. */
  readonly send: (method: string, path: string, options?: AccessRequestOptions) => Promise<AccessAnswer>;
}

export interface AccessTest extends AccessReplica {
  /** Parsed log lines of all replicas, at level debug. */
  readonly logs: Record<string, unknown>[];
  /** Inserts a user without any checks; returns the id. */
  readonly addUser: (user: TestUser) => Promise<string>;
  /** Starts another server on the same database, with its own connections and parts. */
  readonly startReplica: () => Promise<AccessReplica>;
  /** Stops everything and drops the database. */
  readonly stop: () => Promise<void>;
}

/** The real AccessServer with the given operations, on its own database with schema `access` up to date. */
export async function startAccessTest(options: AccessTestOptions): Promise<AccessTest> {
  const template = await templateDatabase('access', migrateAccess);
  const home = await createTestDatabase(template === undefined ? {} : { template });
  const logs: Record<string, unknown>[] = [];
  const stops: (() => Promise<void>)[] = [];
  const start = async (): Promise<AccessReplica> => {
    const { replica, stop } = await startReplica(home, logs, options);
    stops.push(stop);
    return replica;
  };
  const first = await start();
  return {
    ...first,
    logs,
    addUser: (user) => addUser(first.access, user),
    startReplica: start,
    stop: async () => {
      await Promise.all(stops.map((stop) => stop()));
      await home.drop();
    },
  };
}

async function migrateAccess(connection: TestDatabase['connection']): Promise<void> {
  const database = await Database.connect({ connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  await database.close();
}

async function startReplica(
  home: TestDatabase,
  logs: Record<string, unknown>[],
  options: AccessTestOptions,
): Promise<{ replica: AccessReplica; stop: () => Promise<void> }> {
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void logs.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  const access = new AccessDatabase(database);
  const parts: AccessTestParts = {
    database,
    access,
    audit: new Audit(access),
    principals: new Principals(access),
    log,
  };
  const proxies = new TrustedProxies(options.trustedProxies ?? []);
  const metrics = new MetricsRegistry();
  const server = new AccessServer({
    svcVersion: 'test',
    log,
    metrics,
    host: '127.0.0.1',
    port: 0,
    proxies,
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: { total: options.maxInFlight, maxWaitMs: 0 } }),
    ...(options.byteBudget === undefined ? {} : { byteBudget: options.byteBudget }),
  });
  const { port } = await server.listen();
  server.serve({
    credentials: options.credentials?.(parts) ?? [testCredential],
    principals: parts.principals,
    operations: await options.operations(parts),
    throttle: options.throttle?.(parts) ?? { take: () => Promise.resolve(undefined) },
    url: new ServiceUrl(proxies, options.publicUrl),
    allowedOrigins: new Set(options.allowedOrigins),
    readyz: [],
  });
  const send: AccessReplica['send'] = (method, path, request) => sendRequest({ method, path, port }, request);
  const stop = async (): Promise<void> => {
    await server.stop();
    await database.close();
  };
  return { replica: { ...parts, port, metrics, url: `http://127.0.0.1:${port}`, send }, stop };
}

function sendRequest(
  target: { method: string; path: string; port: number },
  { as, body, headers = {} }: AccessRequestOptions = {},
): Promise<AccessAnswer> {
  const isRaw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
  const sent: OutgoingHttpHeaders = {
    ...(isRaw ? {} : { 'Content-Type': 'application/json' }),
    ...(as === undefined ? {} : { Authorization: `Bearer ${as}` }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', agent: false, ...target, headers: sent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) });
      });
    });
    request.on('error', reject);
    request.end(isRaw ? body : JSON.stringify(body));
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
