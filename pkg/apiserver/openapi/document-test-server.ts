import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { parse } from 'yaml';
import {
  newUnauthorized,
  newUnknownPath,
  type JsonObject,
  type Model,
  type ModelVersion,
} from '#pkg/apimachinery/index';
import { defaultDefinition, modelFromDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import {
  chain,
  expressHandler,
  HttpServer,
  isOpenEndpoint,
  withRequestId,
  withSecurityHeaders,
  withStatus,
  type Filter,
} from '#pkg/http/index';
import { withDiscovery } from '../discovery/with-discovery.ts';
import type { ModelRegistry, RegisteredModel } from '../rest/served-resource.ts';
import { documentEndpoints } from './document-endpoints.ts';
import type { EndpointDocuments } from './endpoint-documents.ts';

/** For tests: models in memory. */
export class ModelList implements ModelRegistry {
  #list: RegisteredModel[] = [];
  generation = 0;

  constructor(models: readonly Model[] = []) {
    this.set(models.map((model) => registered(model)));
  }

  set(list: readonly RegisteredModel[]): void {
    this.#list = [...list];
    this.generation += 1;
  }

  models(): readonly RegisteredModel[] {
    return this.#list;
  }

  find(): undefined {
    return undefined;
  }

  findNewest(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  hasNamespace(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

export function registered(model: Model, facts: Partial<RegisteredModel> = {}): RegisteredModel {
  return { model, terminating: false, fromDefinition: true, ...facts };
}

/** A model of one version, by default `blog.example.com/v1 Post`. */
export function testModel(facts: Partial<Model> = {}, version: Partial<ModelVersion> = {}): Model {
  const first: ModelVersion = {
    name: 'v1',
    served: true,
    deprecated: false,
    schema: { type: 'object', properties: { spec: { type: 'object', properties: { title: { type: 'string' } } } } },
    subresources: { status: false },
    printerColumns: [],
    selectableFields: [],
    ...version,
  };
  return {
    group: 'blog.example.com',
    names: { plural: 'posts', singular: 'post', kind: 'Post', listKind: 'PostList', shortNames: [], categories: [] },
    scope: 'Cluster',
    versions: [first],
    storageVersion: 'v1',
    indexes: [],
    nameRule: 'model',
    ...facts,
  };
}

/** The definitions of two real projects. */
export function realModels(): Model[] {
  const data = join(import.meta.dirname, '../../../../shared/data');
  return ['gateway-api', 'cert-manager'].flatMap((project) => {
    const folder = join(data, project, 'crds');
    return readdirSync(folder).map((file) =>
      modelFromDefinition(
        defaultDefinition(parse(readFileSync(join(folder, file), 'utf8')) as CustomResourceDefinition),
      ),
    );
  });
}

export interface DocumentResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  json(): JsonObject;
}

export interface DocumentTestServer {
  origin: string;
  get(path: string, headers?: Record<string, string>, options?: RequestOptions): Promise<DocumentResponse>;
  stop(): Promise<void>;
}

/** Serves discovery and documents over HTTP; paths that are not open need `Authorization: Bearer pat_good`. */
export async function startDocumentServer(
  registry: ModelRegistry,
  endpoints?: EndpointDocuments,
): Promise<DocumentTestServer> {
  const groups = documentEndpoints({
    registry,
    svcVersion: '2.22.0',
    ...(endpoints === undefined ? {} : { endpoints }),
  });
  const isOpen = isOpenEndpoint(groups);
  const guard: Filter = (next) => (context) => {
    if (!isOpen(context.info) && context.request.headers.authorization !== 'Bearer pat_good') throw newUnauthorized();
    return next(context);
  };
  const discovery = withDiscovery(registry)(() => Promise.reject(newUnknownPath()));
  const server = new HttpServer({
    handler: chain([withRequestId(), withSecurityHeaders(), withStatus(), guard], expressHandler(groups, discovery)),
    log: pino({ level: 'silent' }),
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    origin: `http://127.0.0.1:${port}`,
    get: (path, headers = {}, options = {}) =>
      get({
        host: '127.0.0.1',
        port,
        path,
        headers: { authorization: 'Bearer pat_good', ...headers },
        agent: false,
        ...options,
      }),
    stop: () => server.close({ drainTimeoutMs: 1000 }),
  };
}

function get(options: RequestOptions): Promise<DocumentResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: () => JSON.parse(text) as JsonObject,
        }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}
