import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pino from 'pino';
import type { JsonObject } from '#pkg/apimachinery/index';
import { StorageError } from '#pkg/storage/index';
import { ConversionWebhooks } from '../../conversion/conversion-webhooks.ts';
import { WebhookPolicy } from '../../webhook/webhook-policy.ts';
import { InformerBus } from '../../informer-bus/informer-bus.ts';
import { noSealer } from '../../rest/sealer.ts';
import type { Strategy } from '../../rest/strategy.ts';
import { InFlightIdempotencyKeys } from '../model/in-flight-idempotency-keys.ts';
import { NamespaceSet } from '../namespace/namespace-set.ts';
import { ApiClient, pollUntil } from '../registrytest/api-client.ts';
import { startReplicas, type ReplicaPair } from '../registrytest/replica-pair.ts';
import { sampleDefinition } from '../registrytest/sample-objects.ts';
import { ServedModel } from '../served/served-model.ts';

let pair: ReplicaPair;
let definitions: ApiClient;

beforeAll(async () => {
  pair = await startReplicas();
  definitions = ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
});

afterAll(() => pair?.close());

/** Serves the current form of a resource with its own strategy. */
function serve(group: string, strategy: Strategy): ServedModel {
  const { store, registry } = pair.one;
  const bus = new InformerBus({ changes: store.changes, log: pino({ level: 'silent' }), observer: undefined });
  const shared = {
    store,
    bus,
    idempotencyKeys: new InFlightIdempotencyKeys(),
    namespaces: new NamespaceSet(),
    dependents: { hasAny: async () => false },
    exactTotalLimit: 10,
    sealer: noSealer,
    webhooks: new ConversionWebhooks(new WebhookPolicy()),
  };
  const { model } = registry.find(group, 'v1', 'things')!;
  return new ServedModel({ shared, model, strategy, fromDefinition: true, terminating: false });
}

/** Like `serve`, but the first validation waits until `release`. */
function held(group: string): { things: ApiClient; served: ServedModel; reached: Promise<void>; release: () => void } {
  let release = (): void => {};
  let reach = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const validate = async (): Promise<[]> => {
    reach();
    await released;
    return [];
  };
  const served = serve(group, { validate });
  return { things: new ApiClient(served.find('v1')!.storage), served, reached, release };
}

function thing(group: string, name: string, title: string): JsonObject {
  return { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name }, spec: { title } };
}

async function shortenTitles(group: string): Promise<void> {
  await definitions.patch(`things.${group}`, ({ spec }) => {
    const [version] = (
      spec as unknown as {
        versions: [
          { schema: { openAPIV3Schema: { properties: { spec: { properties: { title: { maxLength: number } } } } } } },
        ];
      }
    ).versions;
    version.schema.openAPIV3Schema.properties.spec.properties.title.maxLength = 3;
  });
}

describe('a definition that changes while an object is validated', () => {
  test.each([
    ['a create that is no longer valid is refused', 'create', 'long', 422],
    ['a create that is still valid is stored', 'create', 'ok', undefined],
    ['an update that is no longer valid is refused', 'update', 'long', 422],
    ['an update that is still valid is stored', 'update', 'ok', undefined],
  ] as const)('%s', async (_, verb, title, code) => {
    const group = `${verb}-${title}.example.com`;
    await definitions.create(sampleDefinition({ group, plural: 'things', kind: 'Thing' }));
    const plain = ApiClient.of(pair.one.registry, group, 'v1', 'things');
    if (verb === 'update') await plain.create(thing(group, 'x', 'a'));
    const { things, served, reached, release } = held(group);
    const writing = verb === 'create' ? things.create(thing(group, 'x', title)) : things.put(thing(group, 'x', title));
    const outcome = writing.then(
      () => undefined,
      (error: unknown) => error,
    );
    await reached;
    await shortenTitles(group);
    served.retire('the definition of this resource was changed');
    release();
    expect(await outcome).toEqual(code === undefined ? undefined : expect.objectContaining({ code }));
    if (code === undefined) expect(await plain.get('x')).toMatchObject({ spec: { title } });
    else expect(await plain.names()).toEqual(verb === 'update' ? ['x'] : []);
    if (code !== undefined && verb === 'update') expect(await plain.get('x')).toMatchObject({ spec: { title: 'a' } });
  });

  test('a deleted definition is a 404', async () => {
    const group = 'gone.example.com';
    await definitions.create(sampleDefinition({ group, plural: 'things', kind: 'Thing' }));
    const { things, served, reached, release } = held(group);
    const outcome = things.create(thing(group, 'x', 'ok')).then(
      () => undefined,
      (error: unknown) => error,
    );
    await reached;
    await definitions.delete(`things.${group}`);
    await pollUntil(async () => !(await definitions.names()).includes(`things.${group}`));
    served.retire('this resource is no longer served');
    release();
    expect(await outcome).toMatchObject({ code: 404 });
  });
});

test.each([
  ['after 7 names that exist', 7, undefined],
  ['not after 8 names that exist', 8, 'the server was not able to generate a unique name with the prefix "x-"'],
])('another name is generated, %s', async (_, taken, message) => {
  const group = `names-${taken}.example.com`;
  await definitions.create(sampleDefinition({ group, plural: 'things', kind: 'Thing' }));
  const names = new Set<string>();
  const served = serve(group, {
    commit: async ({ object }, write) => {
      names.add(object.metadata.name);
      if (names.size <= taken) throw new StorageError('AlreadyExists', 'it exists');
      return write();
    },
  });
  const { storage } = served.find('v1')!;
  const created = new ApiClient(storage).create({ ...thing(group, '', 'ok'), metadata: { generateName: 'x-' } });
  if (message === undefined) expect((await created).metadata.name).toBe([...names].at(-1));
  else await expect(created).rejects.toMatchObject({ code: 409, reason: 'AlreadyExists', message });
  expect(names.size).toBe(8);
});
