import { pino, type Logger } from 'pino';
import { Database, migrate, silentLog } from '#pkg/database/index';
import {
  chain,
  expressHandler,
  HttpServer,
  isOpenEndpoint,
  sendJson,
  withAuthentication,
  withRequestId,
  withStatus,
  type EndpointGroup,
  type Handler,
} from '#pkg/http/index';
import type { RequestAuthenticator } from '#pkg/identity/index';
import { createTestDatabase } from '../../testenv/test-database.ts';
import { AccessDatabase } from '../access-database.ts';
import { addUser, type TestUser } from '../accesstest/add-user.ts';
import { Audit } from '../audit/audit.ts';
import { accessMigrations } from '../migrations.ts';

export interface TestPlatformParts {
  database: Database;
  access: AccessDatabase;
  audit: Audit;
  log: Logger;
}

export interface TestPlatformOptions {
  authenticator: (parts: TestPlatformParts) => RequestAuthenticator;
  /** In addition to `/whoami`, which answers the authenticated user. */
  groups?: (parts: TestPlatformParts) => readonly EndpointGroup[];
}

export interface TestPlatformAnswer {
  status: number;
  headers: Headers;
  /** The parsed body. */
  json: Record<string, unknown>;
}

export interface TestPlatform extends TestPlatformParts {
  url: string;
  /** Log lines, at level trace. */
  logs: string[];
  addUser(user: TestUser): Promise<string>;
  /** `authorization` is the header's whole value; a body that is no string is sent as JSON. */
  send(
    method: string,
    path: string,
    options?: { authorization?: string | undefined; body?: unknown; headers?: Record<string, string> },
  ): Promise<TestPlatformAnswer>;
  stop(): Promise<void>;
}

/** A server that authenticates like the content platform and permits everything, on its own database. */
export async function startTestPlatform(options: TestPlatformOptions): Promise<TestPlatform> {
  const home = await createTestDatabase();
  const logs: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  const access = new AccessDatabase(database);
  const parts: TestPlatformParts = { database, access, audit: new Audit(access), log };
  const groups = options.groups?.(parts) ?? [];
  const endpoints = expressHandler(groups);
  const dispatch: Handler = (context) =>
    context.info.path === '/whoami' ? sendJson(context, 200, JSON.stringify(context.user)) : endpoints(context);
  const server = new HttpServer({
    handler: chain(
      [
        withRequestId(),
        withStatus(),
        withAuthentication(options.authenticator(parts), { isOpen: isOpenEndpoint(groups) }),
      ],
      dispatch,
    ),
    log,
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${port}`;
  return {
    ...parts,
    url,
    logs,
    addUser: (user) => addUser(access, user),
    send: async (method, path, { authorization, body, headers = {} } = {}) => {
      const isText = body === undefined || typeof body === 'string';
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(isText ? {} : { 'content-type': 'application/json' }),
          ...(authorization === undefined ? {} : { authorization }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      };
    },
    stop: async () => {
      await server.close({ drainTimeoutMs: 1000 });
      await database.close();
      await home.drop();
    },
  };
}
