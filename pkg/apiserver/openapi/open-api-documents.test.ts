import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { builtinModels } from '#pkg/apis/index';
import type { ServedDocument } from '../discovery/answer-document.ts';
import { ModelList, realModels, registered, testModel } from './document-test-server.ts';
import { OpenApiDocuments } from './open-api-documents.ts';
import { referenceNames } from './reference-document.ts';

const svcVersion = '2.22.0';
const methods = new Set(['get', 'put', 'post', 'patch', 'delete']);
const all = [...builtinModels, ...realModels()];
const documents = new OpenApiDocuments({ registry: new ModelList(all), svcVersion });

function parsed({ pieces }: ServedDocument): JsonObject {
  return JSON.parse(pieces.join('')) as JsonObject;
}

function object(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new Error('not an object');
  return value;
}

/** The target of a `$ref`; undefined if there is none. */
function resolved(document: JsonObject, value: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(value) || typeof value['$ref'] !== 'string') return value;
  let place: JsonValue | undefined = document;
  for (const step of value['$ref'].slice(2).split('/')) place = isJsonObject(place) ? place[step] : undefined;
  return place;
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function everyReference(value: JsonValue, found: Set<string>): Set<string> {
  if (Array.isArray(value)) for (const item of value) everyReference(item, found);
  if (isJsonObject(value)) {
    if (typeof value['$ref'] === 'string') found.add(value['$ref']);
    for (const item of Object.values(value)) everyReference(item, found);
  }
  return found;
}

interface Operation {
  path: string;
  method: string;
  parameters: JsonObject[];
  operation: JsonObject;
}

function operations(document: JsonObject): Operation[] {
  return Object.entries(object(document['paths'])).flatMap(([path, item]) =>
    Object.entries(object(item))
      .filter(([method]) => methods.has(method))
      .map(([method, operation]) => {
        const parameters = [object(item)['parameters'] ?? [], object(operation)['parameters'] ?? []]
          .flat()
          .map((parameter) => object(resolved(document, parameter)));
        return { path, method, operation: object(operation), parameters };
      }),
  );
}

/** Checks the rules of OpenAPI for any document, as far as is simple. */
function faults(document: JsonObject): string[] {
  const found: string[] = [];
  for (const reference of everyReference(document, new Set()))
    if (resolved(document, { $ref: reference }) === undefined) found.push(`${reference} leads nowhere`);
  const ids = new Set<string>();
  const tags = Array.isArray(document['tags']) ? document['tags'].map((tag) => object(tag)['name']) : [];
  if (new Set(tags).size !== tags.length) found.push('a tag is there twice');
  for (const { path, method, operation, parameters } of operations(document)) {
    const at = `${method} ${path}`;
    // Kubernetes' clients do not need an operationId.
    const id = text(operation['operationId'] ?? at);
    if (ids.has(id)) found.push(`${at}: ${id} is there twice`);
    ids.add(id);
    const keys = parameters.map((parameter) => `${text(parameter['in'])} ${text(parameter['name'])}`);
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => `path ${match[1]}`);
    if (
      inPath.some((key) => !keys.includes(key)) ||
      keys.filter((key) => key.startsWith('path ')).length !== inPath.length
    )
      found.push(`${at}: path parameters`);
    if (new Set(keys).size !== keys.length) found.push(`${at}: a parameter is there twice`);
    for (const [code, response] of Object.entries(object(operation['responses']))) {
      if (!/^[1-5]\d\d$/.test(code) || typeof object(resolved(document, response))['description'] !== 'string')
        found.push(`${at}: response ${code}`);
    }
  }
  for (const name of Object.keys(object(object(document['components'])['schemas'])))
    if (!/^[\w.-]+$/.test(name)) found.push(`schema name ${name}`);
  return found;
}

describe('the reference, of two real projects', () => {
  test.each(referenceNames)('%s is a valid document', async (name) => {
    const document = parsed(await documents.reference(name));
    expect(document['openapi']).toBe('3.1.0');
    expect(faults(document)).toEqual([]);
  });

  test('schemas are JSON Schema 2020-12, and examples are valid under them', async () => {
    const document = parsed(await documents.reference('extension'));
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
    ajv.addSchema(document, 'document');
    for (const name of Object.keys(object(object(document['components'])['schemas']))) {
      expect(ajv.validateSchema(object(object(document['components'])['schemas'])[name] as JsonObject)).toBe(true);
    }
    const isStatus = ajv.compile({ $ref: 'document#/components/schemas/Status' });
    expect(isStatus({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 404 })).toBe(true);
    const isClass = ajv.compile({ $ref: 'document#/components/schemas/io.k8s.networking.gateway.v1.GatewayClass' });
    expect(
      isClass({
        apiVersion: 'a/v1',
        kind: 'GatewayClass',
        metadata: { name: 'x' },
        spec: { controllerName: 'example.com/x' },
      }),
    ).toBe(true);
    expect(
      isClass({ apiVersion: 'a/v1', kind: 'GatewayClass', metadata: { name: 'x' }, spec: { controllerName: 5 } }),
    ).toBe(false);
    expect(
      isClass({
        apiVersion: 'a/v1',
        kind: 'GatewayClass',
        metadata: { name: 5 },
        spec: { controllerName: 'example.com/x' },
      }),
    ).toBe(false);
  });

  test('the aggregated document contains all the others', async () => {
    const paths = async (name: (typeof referenceNames)[number]): Promise<string[]> =>
      Object.keys(object(parsed(await documents.reference(name))['paths']));
    expect(new Set(await paths('aggregated'))).toEqual(
      new Set([...(await paths('extension')), ...(await paths('public'))]),
    );
    await expect(paths('public')).resolves.toEqual(['/livez', '/readyz', '/version']);
    await expect(paths('console')).resolves.toEqual([]);
  });
});

describe('the operations of a model', () => {
  const model = testModel(
    {
      scope: 'Namespaced',
      indexes: [
        { name: 'spec.slug', path: 'spec.slug', type: 'string', multi: false, unique: true, nullable: true },
        { name: 'spec.tags', path: 'spec.tags[*]', type: 'string', multi: true, unique: false, nullable: true },
      ],
    },
    {
      subresources: {
        status: true,
        scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
      },
    },
  );
  const own = new OpenApiDocuments({ registry: new ModelList([model]), svcVersion });

  test('have ids that no later registration can take or change', async () => {
    const ids = operations(parsed(await own.reference('extension'))).map(({ operation }) => operation['operationId']);
    expect(new Set(ids)).toEqual(
      new Set([
        ...['list', 'create', 'get', 'update', 'patch', 'delete'].map((verb) => `${verb}Post_blog_example_com_v1`),
        'listPost_blog_example_com_v1_AllNamespaces',
        'deletePost_blog_example_com_v1_Collection',
        ...['Status', 'Scale'].flatMap((part) =>
          ['get', 'update', 'patch'].map((verb) => `${verb}Post_blog_example_com_v1_${part}`),
        ),
      ]),
    );
  });

  test('name the fields a list can select and sort by', async () => {
    const list = operations(parsed(await own.reference('extension'))).find(
      ({ path, method }) => path === '/apis/blog.example.com/v1/posts' && method === 'get',
    );
    const names = list?.parameters.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'page',
        'size',
        'sort',
        'labelSelector',
        'fieldSelector',
        'limit',
        'continue',
        'exactTotal',
        'watch',
        'resourceVersion',
        'timeoutSeconds',
      ]),
    );
    const sort = list?.parameters.find(({ name }) => name === 'sort');
    expect(sort).toMatchObject({
      schema: {
        items: {
          enum: expect.arrayContaining(['name', 'metadata.creationTimestamp,desc', 'spec.slug', 'spec.slug,desc']),
        },
      },
    });
    expect(JSON.stringify(sort)).not.toContain('spec.tags');
    const select = list?.parameters.find(({ name }) => name === 'fieldSelector');
    expect(select?.['description']).toContain('`spec.slug` (string), `spec.tags` (string, several values)');
  });

  test('have an example', async () => {
    const create = operations(parsed(await own.reference('extension'))).find(({ method }) => method === 'post');
    expect(create?.operation).toMatchObject({
      requestBody: {
        content: {
          'application/json': {
            example: {
              apiVersion: 'blog.example.com/v1',
              kind: 'Post',
              metadata: { name: 'example', namespace: 'default' },
              spec: { title: 'string' },
            },
          },
        },
      },
    });
  });
});

describe('the documents of Kubernetes, of two real projects', () => {
  test('are those of the index, and valid', async () => {
    const { paths } = parsed(await documents.index()) as { paths: Record<string, { serverRelativeURL: string }> };
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        'api/v1',
        'apis/apiextensions.k8s.io/v1',
        'apis/gateway.networking.k8s.io/v1',
        'apis/gateway.networking.k8s.io/v1beta1',
        'apis/cert-manager.io/v1',
      ]),
    );
    for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
      const document = await documents.kubernetes(path);
      expect(serverRelativeURL).toBe(`/openapi/v3/${path}?hash=${document?.hash}`);
      expect(faults(parsed(document!))).toEqual([]);
    }
  });

  test('have what kubectl looks for before it writes', async () => {
    const document = parsed((await documents.kubernetes('apis/gateway.networking.k8s.io/v1'))!);
    const kind = { group: 'gateway.networking.k8s.io', version: 'v1', kind: 'HTTPRoute' };
    const patch = operations(document).find(
      ({ path, method }) =>
        path === '/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/{name}' && method === 'patch',
    );
    expect(patch?.operation).toMatchObject({ 'x-kubernetes-action': 'patch', 'x-kubernetes-group-version-kind': kind });
    expect(patch?.parameters.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['dryRun', 'fieldManager', 'fieldValidation', 'force']),
    );
    expect(object(document['components'])['schemas']).toMatchObject({
      'io.k8s.networking.gateway.v1.HTTPRoute': {
        'x-kubernetes-group-version-kind': [kind],
        properties: { metadata: { allOf: [{}] }, spec: { type: 'object' } },
      },
    });
    expect(Object.keys(object(document['paths']))).toContain(
      '/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/{name}/status',
    );
  });
});

test('PATCH lists the types that each kind takes', async () => {
  const typesIn = (document: JsonObject, path: string): string[] =>
    Object.keys(
      object(
        object(
          operations(document).find((each) => each.path === path && each.method === 'patch')!.operation['requestBody'],
        )['content'],
      ),
    );
  const plain = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
  const builtin = plain.toSpliced(2, 0, 'application/strategic-merge-patch+json');
  const configMap = '/api/v1/namespaces/{namespace}/configmaps/{name}';
  const route = '/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/{name}';
  const reference = parsed(await documents.reference('extension'));
  expect(typesIn(reference, configMap)).toEqual(builtin);
  expect(typesIn(parsed((await documents.kubernetes('api/v1'))!), configMap)).toEqual(builtin);
  for (const path of [route, `${route}/status`]) {
    expect(typesIn(reference, path)).toEqual(plain);
    expect(typesIn(parsed((await documents.kubernetes('apis/gateway.networking.k8s.io/v1'))!), path)).toEqual(plain);
  }
});

test('a list that a strategic merge patch merges says so', async () => {
  const schemas = object(object(parsed((await documents.kubernetes('api/v1'))!)['components'])['schemas']);
  expect(schemas['io.k8s.api.core.v1.Namespace']).toMatchObject({
    properties: {
      status: {
        properties: {
          conditions: { 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': 'type' },
        },
      },
    },
  });
});

test('both documents say which answers can be tables', async () => {
  const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const listedIn = (document: JsonObject): string[] =>
    operations(document)
      .filter(({ path }) => /\/httproutes(?:\/\{name\})?$/.test(path))
      .filter(({ operation }) => JSON.stringify(operation['responses']).includes(`"${tableType}"`))
      .map(({ path, method }) => `${method} ${path.endsWith('}') ? 'one' : 'all'}`);
  const kubernetes = listedIn(parsed((await documents.kubernetes('apis/gateway.networking.k8s.io/v1'))!));
  expect([...new Set(kubernetes)].toSorted()).toEqual(['get all', 'get one', 'patch one', 'post all', 'put one']);
  const reference = listedIn(parsed(await documents.reference('extension')));
  expect([...new Set(reference)].toSorted()).toEqual([
    'delete all',
    'get all',
    'get one',
    'patch one',
    'post all',
    'put one',
  ]);
});

describe('when documents change', () => {
  const one = testModel();
  const two = testModel({ group: 'other.example.com' });

  test('a model is in the documents as long as it is registered', async () => {
    const registry = new ModelList([one]);
    const made = new OpenApiDocuments({ registry, svcVersion });
    const before = {
      extension: await made.reference('extension'),
      index: await made.index(),
      own: await made.kubernetes('apis/blog.example.com/v1'),
    };
    registry.set([registered(one), registered(two)]);
    expect(Object.keys(object(parsed(await made.reference('extension'))['paths']))).toContain(
      '/apis/other.example.com/v1/posts',
    );
    expect((await made.reference('extension')).hash).not.toBe(before.extension.hash);
    expect((await made.kubernetes('apis/blog.example.com/v1'))?.hash).toBe(before.own?.hash);
    expect((await made.index()).hash).not.toBe(before.index.hash);
    registry.set([registered(one)]);
    expect(made.kubernetes('apis/other.example.com/v1')).toBeUndefined();
    expect((await made.reference('extension')).hash).toBe(before.extension.hash);
  });

  test('documents do not depend on the order of registration', async () => {
    const forward = new OpenApiDocuments({ registry: new ModelList([one, two]), svcVersion });
    const reversed = new OpenApiDocuments({ registry: new ModelList([two, one]), svcVersion });
    expect((await forward.reference('aggregated')).pieces.join('')).toBe(
      (await reversed.reference('aggregated')).pieces.join(''),
    );
    expect((await forward.index()).hash).toBe((await reversed.index()).hash);
  });

  test('a version that is not served has no document', () => {
    const registry = new ModelList([testModel({}, { served: false })]);
    expect(new OpenApiDocuments({ registry, svcVersion }).kubernetes('apis/blog.example.com/v1')).toBeUndefined();
  });

  test('endpoints are in the documents as long as plugins mount them', async () => {
    const endpoints = {
      generation: 1,
      list: [
        {
          audience: 'console' as const,
          paths: {
            '/apis/console.api.blog.example.com/v1/stats': {
              get: { responses: { '200': { description: 'Statistics.' } } },
            },
          },
        },
      ],
      documents: () => endpoints.list,
    };
    const made = new OpenApiDocuments({ registry: new ModelList([one]), svcVersion, endpoints });
    for (const name of ['console', 'aggregated'] as const)
      expect(Object.keys(object(parsed(await made.reference(name))['paths']))).toContain(
        '/apis/console.api.blog.example.com/v1/stats',
      );
    expect((await made.reference('uc')).pieces.join('')).not.toContain('stats');
    endpoints.list = [];
    endpoints.generation += 1;
    expect(parsed(await made.reference('console'))['paths']).toEqual({});
  });
});

describe('texts of a model', () => {
  test('are escaped, whatever they contain', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string(), async (description, name) => {
        const schema = {
          type: 'object' as const,
          description,
          properties: {
            spec: {
              type: 'object' as const,
              properties: Object.fromEntries([[name, { type: 'string' as const, description, default: description }]]),
            },
          },
        };
        const made = new OpenApiDocuments({ registry: new ModelList([testModel({}, { schema })]), svcVersion });
        const schemas = object(object(parsed(await made.reference('extension'))['components'])['schemas']);
        expect(schemas['com.example.blog.v1.Post']).toMatchObject({
          description,
          properties: { spec: { properties: { [name]: { description } } } },
        });
        parsed((await made.kubernetes('apis/blog.example.com/v1'))!);
      }),
      { numRuns: 50 },
    );
  });

  test('a lone surrogate is escaped', async () => {
    const made = new OpenApiDocuments({
      registry: new ModelList([testModel({}, { schema: { type: 'object', description: '\ud800' } })]),
      svcVersion,
    });
    expect((await made.reference('extension')).pieces.join('')).toContain('"description":"\\ud800"');
  });

  test('a group cannot take the name of a shared schema', async () => {
    const sameNameModel = testModel({
      group: 'meta.apis.pkg.apimachinery.k8s.io',
      names: { ...testModel().names, kind: 'ObjectMeta', listKind: 'ObjectMetaList' },
    });
    const made = new OpenApiDocuments({ registry: new ModelList([sameNameModel]), svcVersion });
    const whole = (await made.kubernetes('apis/meta.apis.pkg.apimachinery.k8s.io/v1'))!.pieces.join('');
    expect(whole.split('"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":')).toHaveLength(2);
    expect(
      object(object((JSON.parse(whole) as JsonObject)['components'])['schemas'])[
        'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
      ],
    ).toMatchObject({ properties: { ownerReferences: { type: 'array' } } });
  });
});
