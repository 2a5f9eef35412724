import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pino from 'pino';
import type { JsonObject } from '#pkg/apimachinery/index';
import { InformerBus } from '../../informer-bus/informer-bus.ts';
import { InFlightIdempotencyKeys } from '../model/in-flight-idempotency-keys.ts';
import { NamespaceSet } from '../namespace/namespace-set.ts';
import { ApiClient, waitUntil } from '../registrytest/api-client.ts';
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

/** A resource as it is served now, whose first validation is held until `release`. */
function held(group: string): { things: ApiClient; served: ServedModel; reached: Promise<void>; release: () => void } {
  const { store, registry } = pair.one;
  const bus = new InformerBus({ changes: store.changes, log: pino({ level: 'silent' }), observer: undefined });
  const shared = {
    store,
    bus,
    idempotencyKeys: new InFlightIdempotencyKeys(),
    namespaces: new NamespaceSet(),
    dependents: { hasAny: async () => false },
    exactTotalLimit: 10,
  };
  const { model } = registry.find(group, 'v1', 'things')!;
  let release = (): void => {};
  let reach = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const validate = async (): Promise<[]> => {
    reach();
    await released;
    return [];
  };
  const served = new ServedModel({ shared, model, strategy: { validate }, fromDefinition: true, terminating: false });
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
    ['a create that is valid no more is refused', 'create', 'long', 422],
    ['a create that is valid still is stored', 'create', 'ok', undefined],
    ['an update that is valid no more is refused', 'update', 'long', 422],
    ['an update that is valid still is stored', 'update', 'ok', undefined],
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

  test('a definition that is gone is a 404', async () => {
    const group = 'gone.example.com';
    await definitions.create(sampleDefinition({ group, plural: 'things', kind: 'Thing' }));
    const { things, served, reached, release } = held(group);
    const outcome = things.create(thing(group, 'x', 'ok')).then(
      () => undefined,
      (error: unknown) => error,
    );
    await reached;
    await definitions.delete(`things.${group}`);
    await waitUntil(async () => !(await definitions.names()).includes(`things.${group}`));
    served.retire('this resource is no longer served');
    release();
    expect(await outcome).toMatchObject({ code: 404 });
  });
});
