import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import {
  convertServer,
  sendConverted,
  sendResponse,
  startTestWebhook,
  type WebhookAnswer,
  type TestWebhook,
} from '../conversiontest/start-test-webhook.ts';
import { startTestApi, type TestApi } from '../handlers/start-test-api.ts';
import type { JsonApiObject } from '../rest/strategy.ts';
import type { WebhookOutcome } from './conversion-webhook.ts';
import { pollUntil } from '../../testenv/faults/poll-until.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const current = '/apis/net.example.com/v1/namespaces/default/servers';
const older = '/apis/net.example.com/v1beta1/namespaces/default/servers';

let webhook: TestWebhook;
let api: TestApi;
const outcomes: WebhookOutcome[] = [];

beforeAll(async () => {
  webhook = await startTestWebhook();
  api = await startTestApi({
    webhooks: { allowedHosts: [webhook.host], allowedNetworks: ['127.0.0.0/8'], timeoutMs: 2_000 },
    webhookObserver: (_ms, outcome) => outcomes.push(outcome),
  });
  const created = await api.call('POST', definitions, { body: newDefinition('servers', 'Server') });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
});
afterAll(async () => {
  await api?.stop();
  await webhook?.stop();
});
afterEach(() => {
  webhook.answer = undefined;
  webhook.reviews.length = 0;
  outcomes.length = 0;
});

const text = { type: 'string' };

function newDefinition(plural: string, kind: string, clientConfig: JsonObject = {}): JsonObject {
  const version = (name: string, storage: boolean, properties: JsonObject): JsonObject => ({
    name,
    served: true,
    storage,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: { type: 'object', properties: { ...properties, replicas: { type: 'integer' } } },
          status: { type: 'object', properties: { replicas: { type: 'integer' } } },
        },
      },
    },
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
    additionalPrinterColumns: [{ name: 'Where', type: 'string', jsonPath: storage ? '.spec.host' : '.spec.hostPort' }],
    selectableFields: [{ jsonPath: storage ? '.spec.host' : '.spec.hostPort' }],
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.net.example.com` },
    spec: {
      group: 'net.example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        version('v1beta1', false, { hostPort: { ...text, default: 'localhost:80' }, ofBeta: text }),
        version('v1', true, { host: text, port: text, mode: { ...text, default: 'plain' } }),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1', 'v1beta1'],
          clientConfig: { url: webhook.url, caBundle: webhook.caBundle, ...clientConfig },
        },
      },
    },
  };
}

function server(name: string, spec: JsonObject, apiVersion = 'net.example.com/v1beta1'): JsonObject {
  return { apiVersion, kind: 'Server', metadata: { name }, spec };
}

describe('an object of two versions', () => {
  test('is written and read in each', async () => {
    const created = await api.call('POST', older, { body: server('both', { hostPort: 'a:1', ofBeta: 'x' }) });
    expect([created.status, created.body.apiVersion, created.body.spec]).toEqual([
      201,
      'net.example.com/v1beta1',
      { hostPort: 'a:1' },
    ]);
    const stored = await api.call('GET', `${current}/both`);
    expect([stored.body.apiVersion, stored.body.spec]).toEqual([
      'net.example.com/v1',
      { host: 'a', port: '1', mode: 'plain' },
    ]);
    const before = webhook.reviews.length;
    await api.call('GET', `${current}/both`);
    expect(webhook.reviews.length).toBe(before);
    const read = await api.call('GET', `${older}/both`);
    expect(read.body).toEqual(created.body);
    const { request } = webhook.reviews.at(-1)!;
    expect(request.objects[0]!.metadata).not.toHaveProperty('managedFields');
    expect(request.objects[0]!.metadata).not.toHaveProperty('resourceVersion');
  });

  test('is patched, scaled and has its status in the version of the request', async () => {
    await api.call('POST', older, { body: server('parts', { hostPort: 'a:1', replicas: 1 }) });
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const patched = await api.call('PATCH', `${older}/parts`, { headers, body: { spec: { hostPort: 'b:2' } } });
    expect([patched.body.spec, patched.body.metadata.generation]).toEqual([{ hostPort: 'b:2', replicas: 1 }, 2]);
    const again = await api.call('PATCH', `${older}/parts`, { headers, body: { spec: { hostPort: 'b:2' } } });
    expect(again.body).toEqual(patched.body);
    const scaled = await api.call('PATCH', `${older}/parts/scale`, { headers, body: { spec: { replicas: 3 } } });
    expect(scaled.body.spec).toEqual({ replicas: 3 });
    const status = await api.call('PATCH', `${older}/parts/status`, { headers, body: { status: { replicas: 2 } } });
    expect(status.body.status).toEqual({ replicas: 2 });
    const { body } = await api.call('GET', `${current}/parts`);
    expect([body.spec, body.status]).toEqual([{ host: 'b', port: '2', mode: 'plain', replicas: 3 }, { replicas: 2 }]);
  });

  test('has owners in several versions', async () => {
    const apply = (path: string, manager: string, spec: JsonObject, more = ''): ReturnType<TestApi['call']> =>
      api.call('PATCH', `${path}/owned?fieldManager=${manager}${more}`, {
        headers: { 'Content-Type': 'application/apply-patch+yaml' },
        body: server('owned', spec, path === current ? 'net.example.com/v1' : 'net.example.com/v1beta1'),
      });
    expect((await apply(older, 'beta', { hostPort: 'a:1' })).status).toBe(201);
    expect((await apply(current, 'stable', { replicas: 2 })).status).toBe(200);
    const refused = await apply(current, 'stable', { replicas: 2, host: 'b' });
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'Apply failed with 1 conflict: conflict with "beta": .spec.hostPort',
    ]);
    const forced = await apply(current, 'stable', { replicas: 2, host: 'b' }, '&force=true');
    expect(forced.body.spec).toEqual({ host: 'b', port: '1', mode: 'plain', replicas: 2 });
    const owners = (object: JsonApiObject): unknown =>
      object.metadata.managedFields?.map(({ manager, apiVersion, fieldsV1 }) => [manager, apiVersion, fieldsV1]);
    expect(owners(forced.body)).toEqual([
      ['stable', 'net.example.com/v1', { 'f:spec': { 'f:host': {}, 'f:replicas': {} } }],
    ]);
    // The same manager in another version releases what it had.
    const moved = await apply(older, 'stable', { replicas: 2 });
    expect([moved.status, owners(moved.body)]).toEqual([
      200,
      [['stable', 'net.example.com/v1beta1', { 'f:spec': { 'f:replicas': {} } }]],
    ]);
    await apply(older, 'beta', { hostPort: 'c:3' });
    const updated = await api.call('PATCH', `${current}/owned?fieldManager=editor`, {
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: { spec: { port: '4' } },
    });
    expect(updated.body.spec).toMatchObject({ host: 'c', port: '4' });
    expect(owners(updated.body)).toEqual([
      ['stable', 'net.example.com/v1beta1', { 'f:spec': { 'f:replicas': {} } }],
      ['editor', 'net.example.com/v1', { 'f:spec': { 'f:port': {} } }],
    ]);
  });

  test('is listed in chunks, as a table, and deleted', async () => {
    for (const name of ['list-1', 'list-2', 'list-3'])
      await api.call('POST', current, {
        body: {
          ...server(name, { host: name, port: '9' }, 'net.example.com/v1'),
          metadata: { name, labels: { of: 'list' } },
        },
      });
    webhook.reviews.length = 0;
    const all = await api.call('GET', `${older}?labelSelector=of=list`);
    expect(all.body.items.map(({ spec }: JsonApiObject) => spec)).toEqual([
      { hostPort: 'list-1:9' },
      { hostPort: 'list-2:9' },
      { hostPort: 'list-3:9' },
    ]);
    expect(webhook.reviews.map(({ request }) => request.objects.length)).toEqual([3]);
    const chunk = await api.call('GET', `${older}?labelSelector=of=list&limit=2`);
    expect([chunk.body.items.length, chunk.body.metadata.continue]).toEqual([2, expect.any(String)]);
    const table = await api.call('GET', `${older}?labelSelector=of=list`, {
      headers: { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    expect(table.body.rows.map(({ cells }: { cells: unknown[] }) => cells)).toEqual([
      ['list-1', 'list-1:9'],
      ['list-2', 'list-2:9'],
      ['list-3', 'list-3:9'],
    ]);
    const deleted = await api.call('DELETE', `${older}?labelSelector=of=list`);
    expect(deleted.body.items.map(({ spec }: JsonApiObject) => spec)).toHaveLength(3);
    expect((await api.call('GET', `${older}?labelSelector=of=list`)).body.items).toEqual([]);
  });

  test('has the selectable fields of the version in which it is stored', async () => {
    await api.call('POST', older, { body: server('chosen', { hostPort: 'chosen:1' }) });
    const found = await api.call('GET', `${current}?fieldSelector=spec.host=chosen`);
    expect(found.body.items).toHaveLength(1);
    expect((await api.call('GET', `${older}?fieldSelector=spec.hostPort=chosen:1`)).status).toBe(400);
  });

  test('is watched in order, in the version of the watch', async () => {
    const { metadata } = (await api.call('GET', current)).body;
    const watching = api.call(
      'GET',
      `${older}?watch=1&timeoutSeconds=3&allowWatchBookmarks=true&resourceVersion=${metadata.resourceVersion}`,
    );
    webhook.answer = (response, review) => {
      // The first is the slowest.
      const wait = review.request.objects[0]!.metadata.name === 'seen-0' ? 300 : 0;
      setTimeout(() => sendConverted(response, review), wait);
    };
    const revisions: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      const { body } = await api.call('POST', current, {
        body: server(`seen-${i}`, { host: `h${i}`, port: '1' }, 'net.example.com/v1'),
      });
      revisions.push(body.metadata.resourceVersion);
    }
    await api.call('DELETE', `${current}/seen-0`);
    const events = (await watching).text
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { type: string; object: JsonApiObject });
    expect(
      events
        .filter(({ type }) => type !== 'BOOKMARK')
        .map(({ type, object }) => [type, object.metadata.name, object['spec']]),
    ).toEqual([
      ...revisions.map((_, i) => ['ADDED', `seen-${i}`, { hostPort: `h${i}:1` }]),
      ['DELETED', 'seen-0', { hostPort: 'h0:1' }],
    ]);
  });
});

describe('a webhook that breaks the rules', () => {
  const subject = 'conversion webhook for net.example.com/v1, Kind=Server';

  beforeAll(async () => {
    await api.call('POST', current, { body: server('victim', { host: 'a', port: '1' }, 'net.example.com/v1') });
    await api.call('POST', current, { body: server('victim-2', { host: 'b', port: '1' }, 'net.example.com/v1') });
  });

  const changing = (change: (object: JsonApiObject) => void): WebhookAnswer => {
    return (response, review) =>
      sendConverted(response, review, (object, apiVersion) => {
        const converted = structuredClone(convertServer(object, apiVersion)) as JsonApiObject;
        change(converted);
        return converted;
      });
  };
  test.each<{ reason: string; answer: WebhookAnswer; message: string }>([
    {
      reason: 'says that it failed',
      answer: (response, { request: { uid } }) =>
        sendResponse(response, { uid, result: { status: 'Failed', message: `no port${'!'.repeat(5000)}` } }),
      message: `${subject} failed: no port${'!'.repeat(1017)}`,
    },
    {
      reason: 'answers another request',
      answer: (response) => sendResponse(response, { uid: 'other', result: { status: 'Success' } }),
      message: `${subject} failed: expected response.uid=`,
    },
    {
      reason: 'returns too few objects',
      answer: (response, { request: { uid } }) =>
        sendResponse(response, { uid, result: { status: 'Success' }, convertedObjects: [] }),
      message: `${subject} returned 0 objects, expected 1`,
    },
    {
      reason: 'changes the name',
      answer: changing(({ metadata }) => (metadata.name = 'other')),
      message: `${subject} returned invalid converted object: must have the same name: victim != other`,
    },
    {
      reason: 'changes the uid',
      answer: changing(({ metadata }) => delete metadata.uid),
      message: `${subject} returned invalid converted object: must have the same UID: `,
    },
    {
      reason: 'converts to another version',
      answer: changing((object) => (object.apiVersion = 'net.example.com/v2')),
      message: `${subject} returned invalid converted object: invalid groupVersion (expected net.example.com/v1beta1, received net.example.com/v2)`,
    },
    {
      reason: 'sets labels that are not valid',
      answer: changing(({ metadata }) => (metadata.labels = { '-': 'x' })),
      message: `${subject} returned invalid metadata: metadata.labels`,
    },
    {
      reason: 'nests too deeply',
      answer: changing((object) => {
        let spec: JsonObject = {};
        for (let i = 0; i < 200; i += 1) spec = { hostPort: spec };
        Object.assign(object, { spec });
      }),
      message: `${subject} returned invalid converted object: `,
    },
    {
      reason: 'is no JSON',
      answer: (response) => response.end('secret <html>'),
      message: `${subject} failed: the answer is not valid JSON`,
    },
    {
      reason: 'redirects',
      answer: (response) => response.writeHead(302, { Location: 'https://169.254.169.254/' }).end(),
      message: `${subject} failed: the answer has the status 302, not 200`,
    },
    {
      reason: 'is compressed',
      answer: (response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('x'),
      message: `${subject} failed: the answer is compressed, which was not asked for`,
    },
    {
      reason: 'never ends',
      answer: (response) => {
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
        };
        response.on('drain', more);
        more();
      },
      message: `${subject} failed: the answer is larger than `,
    },
  ])('gets a 500 for a read: $reason', async ({ answer, message }) => {
    webhook.answer = answer;
    const { status, body, text: sent } = await api.call('GET', `${older}/victim`);
    expect([status, body.reason, body.message]).toEqual([500, 'InternalError', expect.stringContaining(message)]);
    expect(sent).not.toContain('secret');
    expect(sent.length).toBeLessThan(3000);
    webhook.answer = undefined;
    expect((await api.call('GET', `${older}/victim`)).status).toBe(200);
    expect(new Set(outcomes)).toEqual(new Set(['wrong', 'done']));
  });

  test('changes nothing of metadata but labels and annotations', async () => {
    webhook.answer = changing(({ metadata }) => {
      Object.assign(metadata, {
        labels: { of: 'webhook' },
        annotations: { of: 'webhook' },
        finalizers: ['example.com/mine'],
        generation: 99,
        creationTimestamp: '1999-01-01T00:00:00Z',
        resourceVersion: '1',
        ownerReferences: [{}],
      });
    });
    const { body } = await api.call('GET', `${older}/victim`);
    const { body: stored } = await api.call('GET', `${current}/victim`);
    expect(body.metadata).toEqual({ ...stored.metadata, labels: { of: 'webhook' }, annotations: { of: 'webhook' } });
  });

  test('a write that it cannot show is not stored', async () => {
    webhook.answer = (response, review) => {
      if (review.request.desiredAPIVersion.endsWith('/v1')) sendConverted(response, review);
      else sendResponse(response, { uid: review.request.uid, result: { status: 'Failed', message: 'not back' } });
    };
    const refused = await api.call('POST', older, { body: server('lost', { hostPort: 'a:1' }) });
    expect([refused.status, refused.body.message]).toEqual([500, `${subject} failed: not back`]);
    expect((await api.call('GET', `${current}/lost`)).status).toBe(404);
  });

  test('a list says which object the webhook converts wrongly', async () => {
    webhook.answer = changing((object) => {
      if (object.metadata.name === 'victim-2') object.kind = 'Other';
    });
    await api.call('PATCH', `${current}/victim`, {
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: { metadata: { labels: { of: 'victims' } } },
    });
    await api.call('PATCH', `${current}/victim-2`, {
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: { metadata: { labels: { of: 'victims' } } },
    });
    const { status, body } = await api.call('GET', `${older}?labelSelector=of=victims`);
    expect([status, body.message]).toEqual([
      500,
      `${subject} returned invalid converted object at index 1: invalid kind (expected Server, received Other)`,
    ]);
  });
});

test('a webhook that is away costs one call in a while, has a condition, and objects stay deletable', async () => {
  const created = await api.call('POST', definitions, { body: newDefinition('routers', 'Router') });
  expect(created.status).toBe(201);
  const routers = '/apis/net.example.com/v1/namespaces/default/routers';
  const olderRouters = '/apis/net.example.com/v1beta1/namespaces/default/routers';
  const body = { apiVersion: 'net.example.com/v1', kind: 'Router', metadata: { name: 'r' }, spec: { host: 'a' } };
  await api.call('POST', routers, { body });
  const condition = async (): Promise<[unknown, unknown, unknown]> => {
    const { status } = (await api.call('GET', `${definitions}/routers.net.example.com`)).body;
    const found = status.conditions.find(({ type }: { type: string }) => type === 'ConversionReady');
    return [found?.status, found?.reason, found?.message];
  };
  await pollUntil(async () => (await condition())[0] === 'True');
  await webhook.suspend();
  const answers: unknown[] = [];
  for (let i = 0; i < 5; i += 1) answers.push((await api.call('GET', `${olderRouters}/r`)).body.message);
  const away = 'conversion webhook for net.example.com/v1, Kind=Router failed: ';
  expect(answers.slice(0, 2)).toEqual([
    `${away}the connection failed: ECONNREFUSED`,
    `${away}the connection failed: ECONNREFUSED`,
  ]);
  expect(outcomes.slice(-3)).toEqual(['unreachable', 'unreachable', 'unreachable']);
  expect(answers.at(-1)).toMatch(/its last \d+ calls had no usable answer, so it is not called now$/);
  const refused = await api.call('GET', `${olderRouters}/r`);
  // kubectl would wait for it in silence.
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, null]);
  await pollUntil(async () => (await condition())[1] === 'WebhookUnreachable');
  expect((await api.call('GET', `${routers}/r`)).status).toBe(200);
  expect((await api.call('DELETE', `${olderRouters}/r`)).body.status).toBe('Success');
  await webhook.resume();
  await pollUntil(async () => (await condition())[0] === 'True');
  await api.call('POST', routers, { body });
  expect((await api.call('GET', `${olderRouters}/r`)).body.spec).toEqual({ hostPort: 'a:' });
  expect((await api.call('DELETE', `${definitions}/routers.net.example.com`)).status).toBe(200);
});

test('objects stay readable in both versions when another one becomes that of storage, and move with their next write', async () => {
  await api.call('POST', definitions, { body: newDefinition('movers', 'Mover') });
  const newer = '/apis/net.example.com/v1/namespaces/default/movers';
  const beta = '/apis/net.example.com/v1beta1/namespaces/default/movers';
  const body = {
    apiVersion: 'net.example.com/v1',
    kind: 'Mover',
    metadata: { name: 'm' },
    spec: { host: 'a', port: '1' },
  };
  await api.call('POST', newer, { body });
  const headers = { 'Content-Type': 'application/json-patch+json' };
  const moved = await api.call('PATCH', `${definitions}/movers.net.example.com`, {
    headers,
    body: [0, 1].flatMap((i) => [
      { op: 'replace', path: `/spec/versions/${i}/storage`, value: i === 0 },
      {
        op: 'replace',
        path: `/spec/versions/${i}/selectableFields/0/jsonPath`,
        value: i === 0 ? '.spec.hostPort' : '.spec.host',
      },
    ]),
  });
  expect([moved.status, moved.body.status.storedVersions]).toEqual([200, ['v1', 'v1beta1']]);
  const specs = async (): Promise<unknown[]> =>
    Promise.all([newer, beta].map(async (path) => (await api.call('GET', `${path}/m`)).body.spec));
  const [inNewer, inBeta] = [{ host: 'a', port: '1', mode: 'plain' }, { hostPort: 'a:1' }];
  expect(await specs()).toEqual([inNewer, inBeta]);
  expect((await api.call('GET', newer)).body.items.map(({ spec }: JsonApiObject) => spec)).toEqual([inNewer]);
  expect((await api.call('GET', beta)).body.items.map(({ spec }: JsonApiObject) => spec)).toEqual([inBeta]);
  const written = await api.call('PATCH', `${newer}/m`, {
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: { spec: { port: '2' } },
  });
  // The older version has no mode, and defaults are those of the version of storage.
  const after = [{ host: 'a', port: '2' }, { hostPort: 'a:2' }];
  expect([written.status, written.body.spec]).toEqual([200, after[0]]);
  webhook.reviews.length = 0;
  expect(await specs()).toEqual(after);
  expect(webhook.reviews.map(({ request }) => request.desiredAPIVersion)).toEqual(['net.example.com/v1']);
  await pollUntil(
    async () => (await api.call('GET', `${beta}?fieldSelector=spec.hostPort=a:2`)).body.items?.length === 1,
  );
});

test.each<{ reason: string; config: JsonObject; message: string }>([
  {
    reason: 'a host that the administrator does not allow',
    config: { url: 'https://hooks.example.com/convert' },
    message: 'svc.webhooks.allowed-hosts does not allow hooks.example.com',
  },
  {
    reason: 'another port of an allowed host',
    config: { url: 'https://127.0.0.1:1/convert' },
    message: 'svc.webhooks.allowed-hosts does not allow 127.0.0.1:1',
  },
  {
    reason: 'a bundle without a certificate',
    config: { caBundle: 'Cg==' },
    message: 'spec.conversion.webhook.clientConfig.caBundle has no valid certificate',
  },
])('a definition with $reason is served, and says why it does not convert', async ({ config, message }) => {
  const created = await api.call('POST', definitions, { body: newDefinition('gates', 'Gate', config) });
  expect(created.status).toBe(201);
  const body = { apiVersion: 'net.example.com/v1', kind: 'Gate', metadata: { name: 'g' }, spec: { host: 'a' } };
  await api.call('POST', '/apis/net.example.com/v1/namespaces/default/gates', { body });
  const read = await api.call('GET', '/apis/net.example.com/v1beta1/namespaces/default/gates/g');
  expect([read.status, read.body.message]).toEqual([
    500,
    `conversion webhook for net.example.com/v1, Kind=Gate failed: ${message}`,
  ]);
  await pollUntil(async () => {
    const { status } = (await api.call('GET', `${definitions}/gates.net.example.com`)).body;
    return status.conditions.some(
      ({ type, reason, message: why }: Record<string, string>) =>
        type === 'ConversionReady' && reason === 'WebhookNotAllowed' && why === `the conversion webhook: ${message}`,
    );
  });
  await api.call('DELETE', `${definitions}/gates.net.example.com`);
  await pollUntil(async () => (await api.call('GET', `${definitions}/gates.net.example.com`)).status === 404);
});
