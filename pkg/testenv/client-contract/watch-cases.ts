import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { ClientEvent, EventStream } from '#pkg/apimachinery/index';
import { noteKey, readToEnd, readUntil, eventTexts, type Contract } from './contract-case.ts';
import { newNote, noteType, type Note } from './note-model.ts';

export function watchCases({ client, namespace }: Contract): void {
  const now = async (): Promise<string> => (await client().list(noteType, { namespace, limit: 1 })).resourceVersion;
  const label = (name: string, value: string | null) =>
    client().patch(noteType, { namespace, name }, { type: 'merge', patch: { metadata: { labels: { on: value } } } });

  test('has every change after a revision, in order, with the object', async () => {
    const resourceVersion = await now();
    const created = await client().create(noteType, newNote(namespace, 'watched', { text: 'ü'.repeat(100_000) }));
    const stream = await client().watch(noteType, { namespace, resourceVersion });
    const updated = await client().patch(noteType, noteKey(created), { type: 'merge', patch: { spec: { rank: 1 } } });
    await client().delete(noteType, noteKey(created));
    const told = await readUntil(stream, ({ length }) => length === 3);
    expect(eventTexts(told)).toEqual(['ADDED watched', 'MODIFIED watched', 'DELETED watched']);
    expect(told[0]!.object).toEqual(created);
    expect(told[1]!.object).toEqual(updated);
    expect(Number(told[2]!.object.metadata.resourceVersion)).toBeGreaterThan(Number(updated.metadata.resourceVersion));
  });

  test('an object that enters a selection is added, one that leaves it is deleted', async () => {
    const resourceVersion = await now();
    await client().create(noteType, newNote(namespace, 'moving', { rank: 1 }));
    const byLabel = await client().watch(noteType, { namespace, resourceVersion, labelSelector: 'on=yes' });
    const byField = await client().watch(noteType, { namespace, resourceVersion, fieldSelector: 'rank>5' });
    await label('moving', 'yes');
    await client().patch(noteType, { namespace, name: 'moving' }, { type: 'merge', patch: { spec: { rank: 6 } } });
    await label('moving', 'no');
    await client().patch(noteType, { namespace, name: 'moving' }, { type: 'merge', patch: { spec: { rank: 2 } } });
    expect(eventTexts(await readUntil(byLabel, ({ length }) => length === 3))).toEqual([
      'ADDED moving',
      'MODIFIED moving',
      'DELETED moving',
    ]);
    expect(eventTexts(await readUntil(byField, ({ length }) => length === 3))).toEqual([
      'ADDED moving',
      'MODIFIED moving',
      'DELETED moving',
    ]);
  });

  test('one namespace or all can be watched', async () => {
    const resourceVersion = await now();
    const everywhere = await client().watch(noteType, { resourceVersion, labelSelector: `from=${namespace}` });
    const here = await client().watch(noteType, { namespace, resourceVersion, labelSelector: `from=${namespace}` });
    const labels = { from: namespace };
    await client().create(noteType, newNote('default', `${namespace}-elsewhere`, {}, { labels }));
    await client().create(noteType, newNote(namespace, 'here', {}, { labels }));
    expect(eventTexts(await readUntil(everywhere, ({ length }) => length === 2))).toEqual([
      `ADDED ${namespace}-elsewhere`,
      'ADDED here',
    ]);
    expect(eventTexts(await readUntil(here, ({ length }) => length === 1))).toEqual(['ADDED here']);
  });

  test('a watch that resumes from any event misses and repeats nothing', async () => {
    let resourceVersion = await now();
    const names = Array.from({ length: 20 }, (_, i) => `resumed-${i}`);
    const writing = Promise.all(
      names.map((name) => client().create(noteType, newNote(namespace, name, {}, { labels: { resumed: 'yes' } }))),
    );
    const seen: string[] = [];
    while (seen.length < names.length) {
      const stream = await client().watch(noteType, { namespace, resourceVersion, labelSelector: 'resumed=yes' });
      const told = await readUntil(stream, ({ length }) => length === Math.min(3, names.length - seen.length));
      seen.push(...told.map(({ object }) => object.metadata.name));
      resourceVersion = told.at(-1)!.object.metadata.resourceVersion;
    }
    const created = await writing;
    const inOrder = created.toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
    expect(seen).toEqual(inOrder.map(({ metadata }) => metadata.name));
  });

  test('leaving the loop ends a watch', async () => {
    const stream = await client().watch(noteType, { namespace, resourceVersion: await now() });
    await client().create(noteType, newNote(namespace, 'left'));
    for await (const event of stream) {
      expect(event.type).toBe('ADDED');
      break;
    }
    expect(await readToEnd(stream)).toEqual([]);
  });

  test('close ends a watch while its reader waits, and may be called again', async () => {
    const stream = await client().watch(noteType, { namespace, resourceVersion: await now() });
    const reading = readToEnd(stream);
    await setImmediate();
    stream.close();
    stream.close();
    expect(await reading).toEqual([]);
  });

  test('close ends a watch before it is read', async () => {
    const resourceVersion = await now();
    await client().create(noteType, newNote(namespace, 'unread'));
    const stream = await client().watch(noteType, { namespace, resourceVersion });
    stream.close();
    expect(await readToEnd(stream)).toEqual([]);
  });

  test('a signal ends a watch without an error: before, during and after its opening', async () => {
    const resourceVersion = await now();
    expect(
      await readToEnd(await client().watch(noteType, { namespace, resourceVersion, signal: AbortSignal.abort() })),
    ).toEqual([]);
    const during = new AbortController();
    const opening = client().watch(noteType, { namespace, resourceVersion, signal: during.signal });
    during.abort();
    expect(await readToEnd(await opening)).toEqual([]);
    for (let turns = 0; turns < 20; turns += 1) {
      const duringOpening = new AbortController();
      const stream = client().watch(noteType, { namespace, resourceVersion, signal: duringOpening.signal });
      for (let i = 0; i < turns; i += 1) await setImmediate();
      duringOpening.abort();
      expect(await readToEnd(await stream)).toEqual([]);
    }
    const afterOpening = new AbortController();
    const reading = readToEnd(
      await client().watch(noteType, { namespace, resourceVersion, signal: afterOpening.signal }),
    );
    await setImmediate();
    afterOpening.abort();
    expect(await reading).toEqual([]);
  });

  test('many concurrent watches each get every event', async () => {
    const resourceVersion = await now();
    const streams: EventStream<Note>[] = await Promise.all(
      Array.from({ length: 20 }, () => client().watch(noteType, { namespace, resourceVersion })),
    );
    await Promise.all(
      Array.from({ length: 30 }, (_, i) => client().create(noteType, newNote(namespace, `shared-${i}`))),
    );
    const heard = await Promise.all(streams.map((stream) => readUntil(stream, ({ length }) => length === 30)));
    const first = eventTexts(heard[0]!);
    expect(first.toSorted()).toEqual(Array.from({ length: 30 }, (_, i) => `ADDED shared-${i}`).toSorted());
    for (const told of heard) expect(eventTexts(told)).toEqual(first);
  });

  test('a reader that changes an event does not affect others', async () => {
    const resourceVersion = await now();
    const streams = await Promise.all([1, 2].map(() => client().watch(noteType, { namespace, resourceVersion })));
    const created = await client().create(noteType, newNote(namespace, 'own', { extra: { a: 1 } }));
    for (const stream of streams) {
      const [event] = (await readUntil(stream, ({ length }) => length === 1)) as [
        ClientEvent<Note> & { type: 'ADDED' },
      ];
      expect(event.object).toEqual(created);
      event.object.spec!.title = 'mine';
    }
  });
}
