import { pino } from 'pino';
import { Registry as MetricsRegistry } from 'prom-client';
import { newUnauthorized } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import type { RequestAuthenticator, TokenAuthenticator, UserInfo } from '#pkg/identity/index';
import { PostgresStore } from '#pkg/storage/index';
import { createPlatformDatabase } from '../../testenv/platform-database.ts';
import { testSealer } from '../../testenv/test-sealer.ts';
import { ApiServer } from '../api-server.ts';
import { createPlatformRegistry, type PlatformRegistry } from '../registry/index.ts';
import { RbacAuthorizer } from './rbac-authorizer.ts';

export interface RbacTestResponse {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
  body: any;
}

/** Users are named by the credential: `Bearer <name>`; groups by name. */
export interface TestRbac {
  /** `http://127.0.0.1:PORT` */
  url: string;
  registry: PlatformRegistry;
  connection: Awaited<ReturnType<typeof createPlatformDatabase>>['connection'];
  /** The existing users; a removed one has no valid credential any more. */
  users: Map<string, UserInfo>;
  call(
    user: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<RbacTestResponse>;
  /** Resolves when the watch has begun, with its events as they arrive. */
  watch(user: string, path: string): Promise<AsyncGenerator<{ type: string; object: { code?: number } }>>;
  /** Starts another server on the database, and stops it. */
  visit(): Promise<void>;
  stop(): Promise<void>;
}

/** An API server with its own database and RBAC. */
export async function startTestRbac(): Promise<TestRbac> {
  const testDatabase = await createPlatformDatabase();
  const database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  const store = await PostgresStore.open({ database, log: silentLog });
  const log = pino({ level: 'silent' });
  const registry = await createPlatformRegistry({ store, log, sealer: testSealer });
  const users = new Map<string, UserInfo>([['root', testUser('root', 'system:masters')]]);
  const tokens: TokenAuthenticator = { authenticateToken: (token) => Promise.resolve(users.get(token)) };
  const authenticator: RequestAuthenticator = {
    authenticateRequest: async ({ headers }) => {
      const user = users.get((headers.authorization ?? '').replace('Bearer ', ''));
      if (user === undefined) throw newUnauthorized();
      return user;
    },
  };
  const server = new ApiServer({
    svcVersion: '2.22.0',
    log,
    metrics: new MetricsRegistry(),
    http: { host: '127.0.0.1', port: 0 },
  });
  server.serve({
    registry,
    store,
    authenticator,
    authorizer: new RbacAuthorizer(registry.roles),
    pages: registry.roles,
    reviews: { roles: registry.roles, tokens },
  });
  const { port } = await server.listen();
  const url = `http://127.0.0.1:${port}`;
  const send = (user: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${user}`, ...(init.headers as Record<string, string>) },
    });
  return {
    url,
    registry,
    connection: testDatabase.connection,
    users,
    call: async (user, method, path, body, headers = {}) => {
      const sent = body === undefined ? {} : { body: body instanceof Uint8Array ? body : JSON.stringify(body) };
      const response = await send(user, path, {
        method,
        headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
        ...sent,
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: response.headers.get('content-type')?.startsWith('application/json') === true ? JSON.parse(text) : text,
      };
    },
    watch: async (user, path) => {
      const response = await send(user, path);
      if (response.status !== 200) throw new Error(`the watch is ${response.status}`);
      return eventsOf(response.body!);
    },
    visit: async () => (await createPlatformRegistry({ store, log })).stop(),
    stop: async () => {
      await server.stop();
      await registry.stop();
      await store.close();
      await database.close();
      await testDatabase.drop();
    },
  };
}

async function* eventsOf(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<{ type: string; object: { code?: number } }> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line);
  }
}

export function testUser(name: string, ...groups: string[]): UserInfo {
  return { name, uid: `uid-${name}`, groups: [...groups, 'system:authenticated'] };
}
