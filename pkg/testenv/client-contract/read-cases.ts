import { beforeAll, expect, test } from '@jest/globals';
import { isStatusError } from '#pkg/apimachinery/index';
import { objectNames, type Contract } from './contract-case.ts';
import { newNote, noteType } from './note-model.ts';

const count = 12;

export function readCases({ client, namespace }: Contract): void {
  const selection = { namespace, labelSelector: 'case=read' };

  beforeAll(async () => {
    for (let i = 0; i < count; i += 1) {
      await client().create(
        noteType,
        newNote(
          namespace,
          `read-${i}`,
          { rank: count - i, title: i % 2 === 0 ? 'even' : 'odd' },
          { labels: { case: 'read', parity: String(i % 2) } },
        ),
      );
    }
  });

  test('a created object can be read', async () => {
    const object = await client().get(noteType, { namespace, name: 'read-3' });
    expect(object).toMatchObject({
      apiVersion: 'transports.example.com/v1',
      kind: 'Note',
      metadata: { name: 'read-3', namespace, generation: 1 },
      spec: { rank: 9, title: 'odd' },
    });
    expect(object.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(object.metadata.resourceVersion).toMatch(/^\d+$/);
  });

  test('a list has all objects, at one revision', async () => {
    const list = await client().list(noteType, selection);
    expect(objectNames(list.items).toSorted()).toEqual(Array.from({ length: count }, (_, i) => `read-${i}`).toSorted());
    expect(list.continue).toBeUndefined();
    expect(Number(list.resourceVersion)).toBeGreaterThanOrEqual(
      Math.max(...list.items.map(({ metadata }) => Number(metadata.resourceVersion))),
    );
    expect(list.items[0]).toEqual(await client().get(noteType, { namespace, name: list.items[0]!.metadata.name }));
  });

  test.each([
    ['by label', { labelSelector: 'case=read,parity=1' }, 6],
    ['by a set of labels', { labelSelector: 'case=read,parity in (0,1)' }, 12],
    ['by a label that is absent', { labelSelector: 'case=read,!parity' }, 0],
    ['by field', { fieldSelector: 'title=even', labelSelector: 'case=read' }, 6],
    ['by a range', { fieldSelector: 'rank>=10', labelSelector: 'case=read' }, 3],
    ['by name', { fieldSelector: 'metadata.name=read-5' }, 1],
    ['in another namespace', { namespace: 'default', labelSelector: 'case=read' }, 0],
  ])('objects are selected %s', async (_reason, options, expected) => {
    expect((await client().list(noteType, { namespace, ...options })).items).toHaveLength(expected);
  });

  test('a list without a namespace has objects of all namespaces', async () => {
    for (const everywhere of [{}, { namespace: '' }]) {
      const { items } = await client().list(noteType, { ...everywhere, fieldSelector: `metadata.name=read-0` });
      expect(items.filter(({ metadata }) => metadata.namespace === namespace)).toHaveLength(1);
    }
  });

  test('a list is sorted, in priority order', async () => {
    const { items } = await client().list(noteType, { ...selection, sort: ['title,desc', 'rank'] });
    expect(objectNames(items)).toEqual([
      'read-11',
      'read-9',
      'read-7',
      'read-5',
      'read-3',
      'read-1',
      'read-10',
      'read-8',
      'read-6',
      'read-4',
      'read-2',
      'read-0',
    ]);
  });

  test('a list in chunks is the list at the time of the first chunk', async () => {
    const whole = await client().list(noteType, { ...selection, sort: ['rank'] });
    const taken: string[] = [];
    let next: string | undefined;
    let chunks = 0;
    do {
      const chunk = await client().list(noteType, {
        ...selection,
        sort: ['rank'],
        limit: 5,
        ...(next === undefined ? {} : { continue: next }),
      });
      if (chunks === 0)
        await client().patch(noteType, { namespace, name: 'read-0' }, { type: 'merge', patch: { spec: { rank: -1 } } });
      expect(chunk.items.length).toBeLessThanOrEqual(5);
      taken.push(...objectNames(chunk.items));
      next = chunk.continue;
      chunks += 1;
    } while (next !== undefined);
    expect(chunks).toBe(3);
    expect(taken).toEqual(objectNames(whole.items));
    await client().patch(noteType, { namespace, name: 'read-0' }, { type: 'merge', patch: { spec: { rank: count } } });
  });

  test('a continue token without a limit returns the rest', async () => {
    const first = await client().list(noteType, { ...selection, limit: 5 });
    const rest = await client().list(noteType, { ...selection, continue: first.continue! });
    expect(rest.items).toHaveLength(count - 5);
    expect(rest.continue).toBeUndefined();
  });

  test('a limit of 0 is no limit', async () => {
    expect((await client().list(noteType, { ...selection, limit: 0 })).items).toHaveLength(count);
  });

  test('concurrent reads each have their own answer', async () => {
    const names = Array.from({ length: 200 }, (_, i) => `read-${i % (count + 1)}`);
    const answers = await Promise.all(
      names.map((name) =>
        client()
          .get(noteType, { namespace, name })
          .then(({ metadata }) => metadata.name)
          .catch((error: unknown) => (isStatusError(error, 'NotFound') ? 'none' : 'something else')),
      ),
    );
    expect(answers).toEqual(names.map((name) => (name === `read-${count}` ? 'none' : name)));
  });

  test('a cluster-scoped type is read without a namespace', async () => {
    const namespaces = {
      group: '',
      version: 'v1',
      kind: 'Namespace',
      plural: 'namespaces',
      namespaced: false,
      hasStatusSubresource: true,
    };
    expect((await client().get(namespaces, { namespace: '', name: namespace })).metadata.name).toBe(namespace);
    expect(objectNames((await client().list(namespaces)).items)).toContain(namespace);
  });
}
