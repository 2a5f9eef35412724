import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { builtinModels } from '#pkg/apis/index';
import {
  ModelList,
  registered,
  startDocumentServer,
  testModel,
  type DocumentTestServer,
} from '../openapi/document-test-server.ts';

const v2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const v2beta1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
/** What kubectl 1.33 sends. */
const kubectl = `${v2},${v2beta1},application/json`;

const post = testModel(
  {
    scope: 'Namespaced',
    names: {
      plural: 'posts',
      singular: 'post',
      kind: 'Post',
      listKind: 'PostList',
      shortNames: ['po'],
      categories: ['all'],
    },
  },
  {
    subresources: {
      status: true,
      scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
    },
  },
);
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const some = ['get', 'patch', 'update'];
const registry = new ModelList();
let server: DocumentTestServer;

beforeAll(async () => {
  server = await startDocumentServer(registry);
});

afterAll(() => server.stop());

function setModels(facts: { terminating?: boolean; without?: boolean } = {}): void {
  const { terminating = false, without = false } = facts;
  registry.set([
    ...builtinModels.map((model) => registered(model, { fromDefinition: false })),
    ...(without ? [] : [registered(post, { terminating })]),
  ]);
}

describe('the legacy documents', () => {
  test.each([
    ['/api', { kind: 'APIVersions', versions: ['v1'] }],
    [
      '/apis',
      {
        kind: 'APIGroupList',
        apiVersion: 'v1',
        groups: [
          { name: 'apiextensions.k8s.io' },
          { name: 'console.svc.run' },
          { name: 'coordination.k8s.io' },
          { name: 'plugin.svc.run' },
          { name: 'rbac.authorization.k8s.io' },
          {
            name: 'blog.example.com',
            versions: [{ groupVersion: 'blog.example.com/v1', version: 'v1' }],
            preferredVersion: { groupVersion: 'blog.example.com/v1', version: 'v1' },
          },
        ],
      },
    ],
    [
      '/apis/blog.example.com',
      { kind: 'APIGroup', apiVersion: 'v1', name: 'blog.example.com', preferredVersion: { version: 'v1' } },
    ],
    [
      '/apis/blog.example.com/v1',
      {
        kind: 'APIResourceList',
        groupVersion: 'blog.example.com/v1',
        resources: [
          {
            name: 'posts',
            singularName: 'post',
            namespaced: true,
            kind: 'Post',
            verbs,
            shortNames: ['po'],
            categories: ['all'],
            storageVersionHash: expect.any(String),
          },
          { name: 'posts/status', singularName: '', namespaced: true, kind: 'Post', verbs: some },
          {
            name: 'posts/scale',
            singularName: '',
            namespaced: true,
            group: 'autoscaling',
            version: 'v1',
            kind: 'Scale',
            verbs: some,
          },
        ],
      },
    ],
    [
      '/api/v1',
      {
        kind: 'APIResourceList',
        groupVersion: 'v1',
        resources: [
          { name: 'configmaps', shortNames: ['cm'], namespaced: true },
          { name: 'events', shortNames: ['ev'], namespaced: true },
          { name: 'namespaces', shortNames: ['ns'], namespaced: false },
          { name: 'namespaces/status' },
          { name: 'resourcequotas', shortNames: ['quota'], namespaced: true },
          { name: 'resourcequotas/status' },
          { name: 'secrets', namespaced: true },
        ],
      },
    ],
  ])('%s', async (path, body) => {
    setModels();
    const answer = await server.get(path, { accept: 'application/json, */*' });
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json', vary: 'Accept' } });
    expect(answer.json()).toMatchObject(body);
  });
});

describe('the aggregated documents', () => {
  test.each([
    ['what kubectl sends', kubectl, v2, 'apidiscovery.k8s.io/v2'],
    ['v2beta1 alone', v2beta1, v2beta1, 'apidiscovery.k8s.io/v2beta1'],
  ])('%s: the response repeats the parameters', async (_reason, accept, contentType, apiVersion) => {
    setModels();
    const answer = await server.get('/apis', { accept });
    expect(answer.headers).toMatchObject({ 'content-type': contentType, vary: 'Accept' });
    expect(answer.json()).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion });
    expect(answer.json()['items']).toContainEqual({
      metadata: { name: 'blog.example.com' },
      versions: [
        {
          version: 'v1',
          freshness: 'Current',
          resources: [
            {
              resource: 'posts',
              responseKind: { group: 'blog.example.com', version: 'v1', kind: 'Post' },
              scope: 'Namespaced',
              singularResource: 'post',
              verbs,
              shortNames: ['po'],
              categories: ['all'],
              subresources: [
                {
                  subresource: 'status',
                  responseKind: { group: 'blog.example.com', version: 'v1', kind: 'Post' },
                  verbs: some,
                },
                {
                  subresource: 'scale',
                  responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
                  verbs: some,
                },
              ],
            },
          ],
        },
      ],
    });
  });

  test('the core group is only in /api, and has no name', async () => {
    setModels();
    const core = (await server.get('/api', { accept: kubectl })).json();
    expect(core['items']).toMatchObject([
      {
        metadata: {},
        versions: [
          {
            version: 'v1',
            resources: [
              { resource: 'configmaps', scope: 'Namespaced' },
              { resource: 'events', scope: 'Namespaced' },
              { resource: 'namespaces', scope: 'Cluster' },
              { resource: 'resourcequotas', scope: 'Namespaced' },
              { resource: 'secrets', scope: 'Namespaced' },
            ],
          },
        ],
      },
    ]);
    expect((await server.get('/apis', { accept: kubectl })).text).not.toContain('"namespaces"');
  });

  test('one group has only the legacy form', async () => {
    setModels();
    expect((await server.get('/apis/blog.example.com', { accept: kubectl })).headers['content-type']).toBe(
      'application/json',
    );
    expect((await server.get('/apis/blog.example.com', { accept: v2 })).status).toBe(406);
  });
});

test('a registered model appears at once, and a removed one disappears at once', async () => {
  setModels();
  const first = await server.get('/apis', { accept: kubectl });
  expect((await server.get('/apis', { accept: kubectl, 'if-none-match': first.headers.etag! })).status).toBe(304);

  setModels({ terminating: true });
  const second = await server.get('/apis', { accept: kubectl, 'if-none-match': first.headers.etag! });
  expect(second.status).toBe(200);
  expect((await server.get('/apis/blog.example.com/v1')).json()).toMatchObject({
    resources: [{ verbs: ['delete', 'deletecollection', 'get', 'list', 'watch'] }, {}, {}],
  });

  setModels({ without: true });
  expect((await server.get('/apis')).text).not.toContain('blog.example.com');
  expect((await server.get('/apis/blog.example.com')).status).toBe(404);
  expect((await server.get('/apis/blog.example.com/v1')).status).toBe(404);

  setModels();
  expect((await server.get('/apis', { accept: kubectl, 'if-none-match': first.headers.etag! })).status).toBe(304);
});

test.each([
  ['an unknown group', '/apis/no.example.com', 404],
  ['an unknown version', '/apis/blog.example.com/v9', 404],
  ['an unknown core version', '/api/v2', 404],
  ['a name of Object.prototype', '/apis/constructor', 404],
  ['a trailing slash', '/apis/', 404],
  ['a resource has no discovery document', '/apis/blog.example.com/v1/posts', 404],
])('%s gives a Status', async (_reason, path, code) => {
  setModels();
  const answer = await server.get(path);
  expect(answer.status).toBe(code);
  expect(answer.json()).toMatchObject({
    kind: 'Status',
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
  });
});

test('other methods and formats are refused', async () => {
  setModels();
  const post405 = await server.get('/apis', {}, { method: 'POST' });
  expect(post405).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  expect((await server.get('/api', { accept: 'application/vnd.kubernetes.protobuf' })).status).toBe(406);
  expect(await server.get('/api', {}, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
});
