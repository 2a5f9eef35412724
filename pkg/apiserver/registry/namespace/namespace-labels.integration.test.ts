import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { groupResource } from '#pkg/apimachinery/index';
import { namespaceModel } from '#pkg/apis/index';
import { startTestApi, type TestApi } from '../../handlers/start-test-api.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { ApiClient, pollUntil } from '../registrytest/api-client.ts';
import { startReplicas, type Replica } from '../registrytest/replica-pair.ts';

const namespaces = '/api/v1/namespaces';
const merge = { 'Content-Type': 'application/merge-patch+json' };
const apply = { 'Content-Type': 'application/apply-patch+yaml' };
const nameLabel = 'kubernetes.io/metadata.name';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

function namespace(name: string, labels?: object): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...(labels === undefined ? {} : { labels }) } };
}

async function namesOf(query: string): Promise<string[]> {
  const { body } = await api.call('GET', `${namespaces}?${query}`);
  return (body.items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
}

test('a created namespace has the label with its name, which belongs to its creator', async () => {
  const created = await api.call('POST', `${namespaces}?fieldManager=test`, { body: namespace('created', { a: 'b' }) });
  expect(created).toMatchObject({ status: 201, body: { metadata: { labels: { a: 'b', [nameLabel]: 'created' } } } });
  expect(created.body.metadata.managedFields).toMatchObject([
    { manager: 'test', fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${nameLabel}`]: {} } } } },
  ]);
  const wrong = await api.call('POST', namespaces, { body: namespace('wrong', { [nameLabel]: 'other' }) });
  expect(wrong.body.metadata.labels).toEqual({ [nameLabel]: 'wrong' });
  const generated = await api.call('POST', namespaces, {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: 'some-' } },
  });
  expect(generated.body.metadata.labels).toEqual({ [nameLabel]: generated.body.metadata.name });
});

test('an applied namespace has it, and no manager owns it', async () => {
  const path = `${namespaces}/applied?fieldManager=test`;
  const created = await api.call('PATCH', path, { body: namespace('applied', { a: 'b' }), headers: apply });
  expect(created).toMatchObject({ status: 201, body: { metadata: { labels: { a: 'b', [nameLabel]: 'applied' } } } });
  expect(JSON.stringify(created.body.metadata.managedFields)).not.toContain(nameLabel);
  const again = await api.call('PATCH', path, { body: namespace('applied', { a: 'b' }), headers: apply });
  expect(again.body).toEqual(created.body);
});

test('an update can neither remove nor change it', async () => {
  await api.call('POST', namespaces, { body: namespace('kept', { a: 'b' }) });
  const path = `${namespaces}/kept`;
  const { body: before } = await api.call('GET', path);
  for (const attempt of [
    await api.call('PUT', path, { body: namespace('kept', { a: 'b' }) }),
    await api.call('PATCH', path, { body: { metadata: { labels: { [nameLabel]: null } } }, headers: merge }),
    await api.call('PATCH', path, { body: { metadata: { labels: { [nameLabel]: 'other' } } }, headers: merge }),
    await api.call('PATCH', path, {
      body: [{ op: 'remove', path: `/metadata/labels/${nameLabel.replace('/', '~1')}` }],
      headers: { 'Content-Type': 'application/json-patch+json' },
    }),
  ])
    expect([attempt.status, attempt.body.metadata.labels]).toEqual([200, before.metadata.labels]);
  const without = await api.call('PATCH', path, { body: { metadata: { labels: null } }, headers: merge });
  expect([without.status, without.body.metadata.labels]).toEqual([200, { [nameLabel]: 'kept' }]);
});

test('selectors find it', async () => {
  expect(await namesOf(`labelSelector=${nameLabel}=default`)).toEqual(['default']);
  expect(await namesOf(`labelSelector=${nameLabel}+in+(kube-system,kube-public,absent)`)).toEqual([
    'kube-public',
    'kube-system',
  ]);
  expect(await namesOf(`labelSelector=!${nameLabel}`)).toEqual([]);
});

const manyLabels = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, '']));

test('one label of the 256 is the one with its name', async () => {
  expect((await api.call('POST', namespaces, { body: namespace('most', manyLabels(255)) })).status).toBe(201);
  const refused = {
    status: 422,
    body: {
      details: {
        causes: expect.arrayContaining([
          {
            reason: 'FieldValueTooMany',
            field: 'metadata.labels',
            message: `must have at most 255 items besides ${nameLabel}, which the server sets`,
          },
        ]),
      },
    },
  };
  expect(await api.call('POST', namespaces, { body: namespace('more', manyLabels(256)) })).toMatchObject(refused);
  expect(await api.call('PUT', `${namespaces}/most`, { body: namespace('most', manyLabels(256)) })).toMatchObject(
    refused,
  );
});

const resource = groupResource(namespaceModel);

/** A namespace as a server stores it that does not know the label. */
async function storeUnlabelled({ store }: Replica, name: string, labels: object = {}): Promise<void> {
  const metadata = {
    name,
    labels,
    uid: randomUUID(),
    creationTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['kubernetes'],
  };
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata, status: { phase: 'Active' } } as JsonApiObject;
  await store.write({ type: 'create', resource, object, fingerprint: 'other' });
}

async function untilLabelled({ registry }: Replica, name: string): Promise<void> {
  const client = ApiClient.of(registry, '', 'v1', 'namespaces');
  await pollUntil(async () => (await client.get(name)).metadata.labels?.[nameLabel] === name);
}

test('namespaces without it get it from a server that starts, and from one that runs', async () => {
  const pair = await startReplicas();
  try {
    await Promise.all([pair.one.registry.stop(), pair.two.registry.stop()]);
    for (const name of ['a', 'b', 'c']) await storeUnlabelled(pair.one, name);
    const started = await pair.start();
    for (const name of ['a', 'b', 'c']) await untilLabelled(started, name);
    await storeUnlabelled(started, 'full', manyLabels(256));
    await storeUnlabelled(started, 'later');
    await untilLabelled(started, 'later');
    // With as many labels as there may be it stays without, can be changed, and gets it with the first free place.
    const client = ApiClient.of(started.registry, '', 'v1', 'namespaces');
    expect((await client.get('full')).metadata.labels).not.toHaveProperty([nameLabel]);
    await client.patch('full', ({ metadata }) => (metadata.finalizers = []));
    const { metadata } = await client.patch('full', (object) => delete object.metadata.labels!['l0']);
    expect(metadata.labels).toMatchObject({ [nameLabel]: 'full' });
  } finally {
    await pair.close();
  }
});
