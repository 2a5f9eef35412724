import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, causesOf, retryUntilPasses, jsonPatch, mergePatch, yamlBody } from './api-call.ts';
import { createOrThrow, definitionsPath, served, type Definition } from './models-definition.ts';
import { realDataPresent, realDefinitions, realExamples, type RealObject } from './real-data-files.ts';
import { RecordedWatch } from './recorded-watch.ts';

const gateway = realDataPresent ? realDefinitions('gateway-api') : [];
const certManager = realDataPresent ? realDefinitions('cert-manager') : [];
const documents = realDataPresent ? realExamples('gateway-api') : [];
const examples = documents.filter(({ content }) => gateway.some((known) => isOf(known.content, content)));

let env: TestEnv;

function isOf({ spec }: Definition, { apiVersion, kind }: RealObject): boolean {
  return spec.names['kind'] === kind && apiVersion.startsWith(`${spec.group}/`);
}

function collectionOf(object: RealObject, acrossNamespaces = false): string {
  const { spec } = gateway.find(({ content }) => isOf(content, object))!.content;
  const plural = String(spec.names['plural']);
  const inside =
    spec.scope === 'Namespaced' && !acrossNamespaces ? `namespaces/${object.metadata.namespace ?? 'default'}/` : '';
  return `/apis/${object.apiVersion}/${inside}${plural}`;
}

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  if (!realDataPresent) return;
  for (const { text } of [...gateway, ...certManager])
    await call(env, definitionsPath, { method: 'POST', headers: yamlBody, body: text });
  const collections = new Set(examples.map(({ content }) => collectionOf(content, true)));
  await Promise.all([...collections].map((path) => served(env, path)));
  const namespaces = new Set(
    documents.map(({ content }) =>
      content.kind === 'Namespace' ? content.metadata.name : (content.metadata.namespace ?? 'default'),
    ),
  );
  namespaces.delete('default');
  for (const name of namespaces)
    await createOrThrow(env, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
});

afterAll(() => env?.stop());

(realDataPresent ? describe : describe.skip)('objects of the gateway’s examples', () => {
  test('every document is of a registered model, or a namespace', () => {
    const others = documents.filter((document) => !examples.includes(document)).map(({ content }) => content.kind);
    expect([examples.length, new Set(others)]).toEqual([87, new Set(['Namespace'])]);
  });

  test('each is stored without loss, and found on the other server', async () => {
    for (const { file, text, content } of examples) {
      const path = collectionOf(content);
      const posted = await call(env, `${path}?fieldValidation=Strict`, {
        method: 'POST',
        headers: yamlBody,
        body: text,
      });
      const one = `${path}/${content.metadata.name}`;
      const answer =
        posted.status === 409 ? await call(env, one, { method: 'PUT', headers: yamlBody, body: text }) : posted;
      expect([file, answer.status, answer.status < 300 ? '' : answer.text]).toEqual([
        file,
        posted.status === 409 ? 200 : 201,
        '',
      ]);
      const read = await call(env, one, { server: 1 });
      expect(read.body.spec).toMatchObject(content.spec);
      expect(read.body).toEqual(answer.body);
    }
  });

  test('lists have each once, across namespaces and within one', async () => {
    const names = (objects: { metadata: { name: string; namespace?: string } }[]): string[] =>
      [...new Set(objects.map(({ metadata }) => `${metadata.namespace ?? 'default'}/${metadata.name}`))].toSorted();
    for (const kind of new Set(examples.map(({ content }) => content.kind))) {
      const mine = examples.filter(({ content }) => content.kind === kind).map(({ content }) => content);
      const { body } = await call(env, collectionOf(mine[0]!, true), { server: 1 });
      expect([kind, body.kind, names(body.items)]).toEqual([kind, `${kind}List`, names(mine)]);
      const first = mine[0]!.metadata.namespace ?? 'default';
      const inside = await call(env, collectionOf(mine[0]!));
      expect(names(inside.body.items)).toEqual(
        kind === 'GatewayClass'
          ? names(mine)
          : names(mine.filter(({ metadata }) => (metadata.namespace ?? 'default') === first)),
      );
    }
  });

  test('a watch from the start has each', async () => {
    const { body } = await call(env, '/apis/gateway.networking.k8s.io/v1/httproutes');
    const stream = await RecordedWatch.open(env, '/apis/gateway.networking.k8s.io/v1/httproutes', { server: 1 });
    await stream.untilCount(body.items.length);
    const byKey = (list: { metadata: { name: string; namespace?: string; resourceVersion: string } }[]): string[] =>
      list.map(({ metadata }) => `${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`).toSorted();
    expect(byKey(stream.changes.map(({ object }) => object))).toEqual(byKey(body.items));
    stream.close();
  });

  test('another served version shows the same objects', async () => {
    const [v1, v1beta1] = await Promise.all(
      ['v1', 'v1beta1'].map((version) => call(env, `/apis/gateway.networking.k8s.io/${version}/gateways`)),
    );
    expect(v1beta1!.body.items.map(({ metadata }) => metadata.uid)).toEqual(
      v1!.body.items.map(({ metadata }) => metadata.uid),
    );
    expect(new Set(v1beta1!.body.items.map(({ apiVersion }) => apiVersion))).toEqual(
      new Set(['gateway.networking.k8s.io/v1beta1']),
    );
  });

  test('wrong values are 422 and name the field', async () => {
    const path = '/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways';
    const base = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name: 'wrong' } };
    const listener = { name: 'l', port: 80, protocol: 'HTTP' };
    const rows: [Record<string, unknown>, string][] = [
      [{ listeners: [listener] }, 'spec.gatewayClassName: FieldValueRequired: Required value'],
      [
        { gatewayClassName: 'c', listeners: [{ ...listener, port: 70000 }] },
        'spec.listeners[0].port: FieldValueInvalid: Invalid value: 70000: spec.listeners[0].port in body should be less than or equal to 65535',
      ],
      [
        { gatewayClassName: 'c', listeners: [listener, listener] },
        'spec.listeners[1]: FieldValueDuplicate: Duplicate value: {"name":"l"}',
      ],
    ];
    for (const [spec, cause] of rows) {
      const answer = await call(env, path, { method: 'POST', body: { ...base, spec } });
      const [field] = cause.split(': ');
      expect([answer.status, causesOf(answer).map((text) => text.split(': ')[0])]).toEqual([
        422,
        expect.arrayContaining([field]),
      ]);
      if (!cause.includes('Duplicate')) expect(causesOf(answer)).toContain(cause);
    }
  });

  test('each can be patched and updated again', async () => {
    const path = '/apis/gateway.networking.k8s.io/v1/httproutes';
    const [route] = (await call(env, path)).body.items;
    const one = `/apis/gateway.networking.k8s.io/v1/namespaces/${route!.metadata.namespace}/httproutes/${route!.metadata.name}`;
    const labelled = await call(env, one, {
      method: 'PATCH',
      headers: mergePatch,
      body: { metadata: { labels: { tested: 'yes' } } },
    });
    expect([labelled.status, labelled.body.metadata.generation]).toEqual([200, route!.metadata.generation]);
    const removed = await call(env, one, {
      method: 'PATCH',
      headers: jsonPatch,
      body: [{ op: 'remove', path: '/metadata/labels/tested' }],
    });
    expect([removed.status, removed.body.spec]).toEqual([200, route!.spec]);
    const condition = {
      type: 'Accepted',
      status: 'True',
      reason: 'Accepted',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const status = {
      parents: [{ parentRef: { name: 'g' }, controllerName: 'example.com/c', conditions: [condition] }],
    };
    const reported = await call(env, `${one}/status`, { method: 'PATCH', headers: mergePatch, body: { status } });
    expect([reported.status, reported.body.metadata.generation]).toEqual([200, route!.metadata.generation]);
  });
});

(realDataPresent ? describe : describe.skip)('objects of cert-manager', () => {
  const path = '/apis/cert-manager.io/v1/namespaces/default/certificates';
  const certificate = (name: string, issuer: string): Record<string, unknown> => ({
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: { name },
    spec: { secretName: name, dnsNames: ['example.com'], issuerRef: { name: issuer, kind: 'Issuer' } },
  });

  test('each can be selected by the fields of its definition', async () => {
    for (const [name, issuer] of [
      ['a', 'one'],
      ['b', 'two'],
      ['c', 'one'],
    ] as const)
      await createOrThrow(env, path, certificate(name, issuer));
    await retryUntilPasses(async () => {
      const { status, body } = await call(env, `${path}?fieldSelector=spec.issuerRef.name%3Done`);
      expect([status, body.items?.map(({ metadata }) => metadata.name)]).toEqual([200, ['a', 'c']]);
    });
  });

  test('a deeply nested issuer keeps all its fields', async () => {
    const http01 = {
      ingress: { podTemplate: { spec: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'k', operator: 'Exists' }] } } },
    };
    const spec = {
      acme: {
        server: 'https://acme.example.com',
        email: 'a@example.com',
        privateKeySecretRef: { name: 'k' },
        solvers: [{ http01, selector: { dnsZones: ['example.com'] } }],
      },
    };
    const issuer = await createOrThrow(env, '/apis/cert-manager.io/v1/clusterissuers', {
      apiVersion: 'cert-manager.io/v1',
      kind: 'ClusterIssuer',
      metadata: { name: 'i' },
      spec,
    });
    expect(issuer.spec).toMatchObject(spec);
  });
});
