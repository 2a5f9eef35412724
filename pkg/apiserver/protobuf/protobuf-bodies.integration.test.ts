import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { JsonObject, Model } from '#pkg/apimachinery/index';
import { configMapModel, leaseModel, namespaceModel, secretModel } from '#pkg/apis/index';
import { posts, startTestApi, type TestApi } from '../handlers/start-test-api.ts';
import { protobufType } from './decode-protobuf.ts';
import { deleteOptionsFields, protobufFieldsOf } from './kind-fields.ts';
import { encodeProtobuf } from './protobuftest/encode-protobuf.ts';

const core = '/api/v1/namespaces/default';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

interface Sent {
  status: number;
  type: string | null;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of any shape
  body: any;
}

async function send(
  method: string,
  path: string,
  body: Buffer,
  accept = `${protobufType},application/json`,
): Promise<Sent> {
  const response = await fetch(`${api.url}${path}`, {
    method,
    body: new Uint8Array(body),
    headers: { 'Content-Type': protobufType, Accept: accept },
  });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: await response.json().catch(() => undefined),
  };
}

function encoded(model: Model, object: JsonObject): Buffer {
  return encodeProtobuf(object, protobufFieldsOf(model, model.versions[0]!)!);
}

test('objects are created, and answered in JSON', async () => {
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { b: 'c' } };
  const created = await send('POST', `${core}/configmaps`, encoded(configMapModel, configMap));
  expect(created).toMatchObject({ status: 201, type: 'application/json', body: configMap });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, stringData: { b: 'c' } };
  expect(await send('POST', `${core}/secrets`, encoded(secretModel, secret))).toMatchObject({
    status: 201,
    body: { data: { b: 'Yw==' }, type: 'Opaque' },
  });
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'made' }, spec: {}, status: {} };
  expect(await send('POST', '/api/v1/namespaces', encoded(namespaceModel, namespace))).toMatchObject({
    status: 201,
    body: { status: { phase: 'Active' } },
  });
});

test('a leader acquires, renews and releases a Lease, and deletes it', async () => {
  const spec = {
    holderIdentity: 'one',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-31T09:30:00.000001Z',
    renewTime: '2026-01-31T09:30:00.000001Z',
    leaseTransitions: 0,
  };
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' }, spec };
  const created = await send('POST', leases, encoded(leaseModel, lease));
  expect(created).toMatchObject({ status: 201, body: { spec } });
  const renewed = { ...spec, renewTime: '2026-01-31T09:30:10.000002Z' };
  const next = { ...(created.body as JsonObject), spec: renewed };
  expect(await send('PUT', `${leases}/l`, encoded(leaseModel, next))).toMatchObject({
    status: 200,
    body: { spec: renewed },
  });
  expect((await send('PUT', `${leases}/l`, encoded(leaseModel, next))).status).toBe(409);
  const options = { apiVersion: 'coordination.k8s.io/v1', kind: 'DeleteOptions', preconditions: { uid: 'other' } };
  const refused = await send('DELETE', `${leases}/l`, encodeProtobuf(options, deleteOptionsFields));
  expect(refused).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
  const { preconditions: _, ...plain } = options;
  expect((await send('DELETE', `${leases}/l`, encodeProtobuf(plain, deleteOptionsFields))).status).toBe(200);
});

test('a body that is no object of the kind is refused', async () => {
  const path = `${core}/configmaps`;
  const secret = encoded(secretModel, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } });
  expect(await send('POST', path, secret)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('the kind in the data (Secret)') },
  });
  for (const bytes of [Buffer.from('{}'), Buffer.from('k8s\0\x12\xff', 'latin1'), Buffer.alloc(64, 0xff)])
    expect(await send('POST', path, bytes)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("is no object in Kubernetes' protobuf") },
    });
  expect((await send('POST', path, Buffer.alloc(0))).status).toBe(400);
});

test('custom kinds, patches and answers are not protobuf', async () => {
  const lease = encoded(leaseModel, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'm' } });
  expect((await send('POST', posts, lease)).status).toBe(415);
  expect((await send('PATCH', `${core}/configmaps/a`, lease)).status).toBe(415);
  expect((await send('POST', leases, lease, protobufType)).status).toBe(406);
  expect((await api.call('GET', `${leases}/m`)).status).toBe(404);
});
