import { pino } from 'pino';
import { Registry as MetricsRegistry } from 'prom-client';
import type { JsonObject, JsonSchema, Model, ModelVersion } from '#pkg/apimachinery/index';
import { builtinModels } from '#pkg/apis/index';
import { Database, silentLog } from '#pkg/database/index';
import { PostgresStore, type Store } from '#pkg/storage/index';
import { createPlatformDatabase } from '../../testenv/platform-database.ts';
import { testSealer } from '../../testenv/test-sealer.ts';
import { ApiServer, type ApiParts, type ApiServerOptions } from '../api-server.ts';
import { createPlatformRegistry, type PlatformRegistryOptions } from '../registry/index.ts';
import type { Sealer } from '../rest/sealer.ts';

export { newTestSealer } from '../../testenv/test-sealer.ts';

export interface TestApiResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined if it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
  body: any;
}

export interface TestCallOptions {
  body?: unknown;
  headers?: Record<string, string>;
}

/** One API server. */
export interface TestReplica {
  url: string;
  call(method: string, path: string, request?: TestCallOptions): Promise<TestApiResponse>;
  stop(): Promise<void>;
}

export type TestApiOptions = Partial<ApiServerOptions & ApiParts> &
  Pick<PlatformRegistryOptions, 'webhooks' | 'webhookObserver'>;

/** An API server with its own database. All requests are allowed unless the options say otherwise. */
export interface TestApi extends TestReplica {
  store: Store;
  database: Database;
}

/**
 * Paths of the test models' collections: a cluster-scoped model with status and scale, a namespaced one without, and a
 * deprecated version of the first.
 */
export const posts = '/apis/blog.example.com/v1/posts';
export const oldPosts = '/apis/blog.example.com/v1alpha1/posts';
export const notesPath = '/apis/blog.example.com/v1/namespaces/default/notes';
export const allNotesPath = '/apis/blog.example.com/v1/notes';

export function newTestPost(name: string | undefined, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { ...(name === undefined ? {} : { name }), ...metadata },
    spec,
  };
}

export function newTestNote(name: string, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'blog.example.com/v1', kind: 'Note', metadata: { name, ...metadata }, spec: {} };
}

export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const testDatabase = await createPlatformDatabase();
  const database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  const store = await PostgresStore.open({ database, log: silentLog });
  const replica = await startReplica(store, options);
  return {
    ...replica,
    store,
    database,
    stop: async () => {
      await replica.stop();
      await store.close();
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** Starts another server on a store; it has no state from before its start, and by default the same key. */
export async function startReplica(
  store: Store,
  { webhooks, webhookObserver, ...options }: TestApiOptions = {},
  sealer: Sealer = testSealer,
): Promise<TestReplica> {
  const log = pino({ level: 'silent' });
  const registry = await createPlatformRegistry({
    store,
    log,
    builtins: [...builtinModels, postModel, noteModel],
    sealer,
    ...(webhooks === undefined ? {} : { webhooks }),
    ...(webhookObserver === undefined ? {} : { webhookObserver }),
  });
  const server = new ApiServer({
    svcVersion: '2.22.0',
    log,
    metrics: new MetricsRegistry(),
    http: { host: '127.0.0.1', port: 0 },
    ...options,
  });
  server.serve({
    registry,
    store,
    authenticator: {
      authenticateRequest: (request) =>
        Promise.resolve({
          name: String(request.headers['x-user'] ?? 'tester'),
          uid: '',
          groups: ['system:authenticated'],
        }),
    },
    authorizer: { authorize: () => Promise.resolve({ allowed: true, reason: '' }) },
    ...options,
  });
  const { port } = await server.listen();
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    call: (method, path, request) => call(url, method, path, request),
    stop: async () => {
      await server.stop();
      await registry.stop();
    },
  };
}

async function call(
  url: string,
  method: string,
  path: string,
  { body, headers = {} }: TestCallOptions = {},
): Promise<TestApiResponse> {
  const hasBody = body !== undefined;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(hasBody ? { 'Content-Type': 'application/json' } : {}), ...headers },
    ...(hasBody ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const schema: JsonSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        title: { type: 'string', maxLength: 100 },
        text: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
        replicas: { type: 'integer' },
      },
    },
    status: { type: 'object', properties: { replicas: { type: 'integer' }, phase: { type: 'string' } } },
  },
};

function version(name: string, others: Partial<ModelVersion> = {}): ModelVersion {
  return {
    name,
    served: true,
    deprecated: false,
    schema,
    subresources: { status: false },
    printerColumns: [],
    selectableFields: [],
    ...others,
  };
}

const subresources: ModelVersion['subresources'] = {
  status: true,
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
};

const postModel: Model = {
  group: 'blog.example.com',
  names: { plural: 'posts', singular: 'post', kind: 'Post', listKind: 'PostList', shortNames: [], categories: [] },
  scope: 'Cluster',
  versions: [version('v1', { subresources }), version('v1alpha1', { subresources, deprecated: true })],
  storageVersion: 'v1',
  indexes: [
    { name: 'spec.title', path: 'spec.title', type: 'string', multi: false, unique: false, nullable: true },
    { name: 'spec.tags', path: 'spec.tags[*]', type: 'string', multi: true, unique: false, nullable: true },
  ],
  nameRule: 'model',
};

const noteModel: Model = {
  group: 'blog.example.com',
  names: { plural: 'notes', singular: 'note', kind: 'Note', listKind: 'NoteList', shortNames: [], categories: [] },
  scope: 'Namespaced',
  versions: [version('v1')],
  storageVersion: 'v1',
  indexes: [],
  nameRule: 'model',
};
