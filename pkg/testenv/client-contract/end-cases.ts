import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { readToEnd } from './contract-case.ts';
import type { ClientTransport } from './transport.ts';
import { newNote, noteType, prepareContract } from './note-model.ts';

const unavailable = { code: 503, reason: 'ServiceUnavailable' };

export function endCases(transport: ClientTransport, env: () => TestEnv): void {
  test('a watch from a revision that is no longer kept is 410 Expired', async () => {
    await env().servers[0]!.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 60_000 });
    // The second server started after revision 1, so that its memory has no events from then.
    const { client, dispose } = transport.open({ env: env(), server: 1 });
    const reading = (async () =>
      readToEnd(await client.watch(noteType, { namespace: transport.namespace, resourceVersion: '1' })))();
    await expect(reading).rejects.toMatchObject({ code: 410, reason: 'Expired' });
    dispose();
  });

  test('after close its streams end and its calls are 503, also those in progress', async () => {
    const { client, dispose } = transport.open({ env: env() });
    const { resourceVersion } = await client.list(noteType, { namespace: transport.namespace, limit: 1 });
    const reading = readToEnd(await client.watch(noteType, { namespace: transport.namespace, resourceVersion }));
    const underWay = Promise.allSettled(Array.from({ length: 20 }, () => client.list(noteType)));
    client.close();
    client.close();
    expect(await reading).toEqual([]);
    for (const outcome of await underWay)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(unavailable);
    await expect(client.get(noteType, { namespace: transport.namespace, name: 'a' })).rejects.toMatchObject(
      unavailable,
    );
    await expect(client.watch(noteType, { resourceVersion })).rejects.toMatchObject(unavailable);
    dispose();
  });

  test('a server that stops ends its streams without an error, after all earlier events', async () => {
    const own = await startTestEnv();
    await prepareContract(own);
    const { client, dispose } = transport.open({ env: own });
    const { resourceVersion } = await client.list(noteType, { namespace: transport.namespace, limit: 1 });
    const stream = await client.watch(noteType, { namespace: transport.namespace, resourceVersion });
    const names: string[] = [];
    const reading = (async () => {
      for await (const event of stream) if (event.type !== 'BOOKMARK') names.push(event.object.metadata.name);
    })();
    for (let i = 0; i < 5; i += 1) await client.create(noteType, newNote(transport.namespace, `last-${i}`));
    while (names.length < 5) await setImmediate();
    await own.stop();
    await reading;
    expect(names).toEqual(['last-0', 'last-1', 'last-2', 'last-3', 'last-4']);
    await expect(client.get(noteType, { namespace: transport.namespace, name: 'last-0' })).rejects.toMatchObject(
      // The loopback transport of a stopped server uses a closed store.
      { code: expect.any(Number), name: 'StatusError' },
    );
    dispose();
  });

  test('a deleted model ends its streams without an error', async () => {
    const { client, dispose } = transport.open({ env: env() });
    const kind = `Gone${transport.namespace.replaceAll('-', '')}`;
    const plural = `${kind.toLowerCase()}s`;
    const type = { ...noteType, kind, plural, namespaced: false };
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const names = { kind, plural, singular: kind.toLowerCase() };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
    await env().request(definitions, {
      method: 'POST',
      body: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.${type.group}` },
        spec: { group: type.group, scope: 'Cluster', names, versions },
      },
    });
    const { resourceVersion } = await client.list(type);
    const reading = readToEnd(await client.watch(type, { resourceVersion }));
    await env().request(`${definitions}/${plural}.${type.group}`, { method: 'DELETE' });
    expect((await reading).filter(({ type: told }) => told !== 'BOOKMARK')).toEqual([]);
    dispose();
  });
}
