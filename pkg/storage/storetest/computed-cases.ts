import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  compileSelector,
  computedKeyOf,
  isComputedIndex,
  parseFieldSelector,
  parseSort,
  pause,
  type ComputedKeys,
  type IndexDefinition,
  type JsonObject,
} from '#pkg/apimachinery/index';
import { decodeBody } from '../body.ts';
import type { Change } from '../change.ts';
import type { ChunkPosition, IndexState, Store, StoredObject } from '../store.ts';
import type { StorePair } from './store-pair.ts';
import { computedModel, createOf, resourceOf, sampleModel, sampleObject, type StoreModel } from './sample-model.ts';

const functions = {
  words:
    "(o) => { if (o.spec.title === 'bad') throw new Error('no words'); return o.spec.title === undefined ? null : o.spec.title.split(' ').length; }",
  letters: "(o) => o.spec.title === undefined ? null : [...new Set(o.spec.title.replace(/ /g, ''))]",
  lower: '(o) => o.spec.title === undefined ? null : o.spec.title.toLowerCase()',
  year: "(o) => o.spec.year === undefined ? null : String(o.spec.year) + '-01-01'",
  half: '(o) => o.spec.year === undefined ? null : o.spec.year / 2',
  even: '(o) => o.spec.year === undefined ? null : o.spec.year % 2 === 0',
};
const words = { name: 'words', key: 'words', type: 'integer' } as const;
const everyType = [
  words,
  { name: 'letters', key: 'letters', multi: true } as const,
  { name: 'lower', key: 'lower', unique: true },
  { name: 'year', key: 'year', type: 'date' } as const,
  { name: 'half', key: 'half', type: 'number' } as const,
  { name: 'even', key: 'even', type: 'boolean' } as const,
];

function queryOf(model: StoreModel, fields: string, sort: string[] = []) {
  return {
    selector: { labels: [], fields: fields === '' ? [] : parseFieldSelector([fields], model.indexes) },
    sort: parseSort(sort, model.indexes),
  };
}

async function names(store: Store, model: StoreModel, fields: string, sort: string[] = []): Promise<string[]> {
  const { items } = await store.page(resourceOf(model), {
    ...queryOf(model, fields, sort),
    page: 1,
    size: 500,
    exactTotal: true,
    exactTotalLimit: 10_000,
  });
  return items.map(({ name }) => name);
}

async function settled(store: Store, model: StoreModel): Promise<IndexState[]> {
  for (;;) {
    const states = await store.indexStates(resourceOf(model));
    if (states.every(({ state }) => state !== 'building')) return states;
    await pause(20);
  }
}

function titled(name: string, title: string | undefined, more: JsonObject = {}) {
  return sampleObject(name, { spec: { ...(title === undefined ? {} : { title }), ...more } });
}

/** Writes the current object with another spec. */
async function change(
  store: Store,
  model: StoreModel,
  name: string,
  spec: JsonObject,
  from?: StoredObject,
): Promise<StoredObject> {
  const present = from ?? (await store.get(resourceOf(model), { namespace: '', name }))!;
  return store.write({
    type: 'update',
    resource: resourceOf(model),
    object: { ...decodeBody(present.body, present.revision), spec },
    fingerprint: 'f1',
    from: present,
  });
}

async function remove(store: Store, model: StoreModel, name: string): Promise<void> {
  const from = (await store.get(resourceOf(model), { namespace: '', name }))!;
  await store.write({
    type: 'delete',
    resource: resourceOf(model),
    object: decodeBody(from.body, from.revision),
    fingerprint: 'f1',
    from,
  });
}

export function computedCases(pair: () => StorePair): void {
  test('objects are found, sorted and distinguished by computed keys, on both replicas', async () => {
    const { store, other } = pair();
    const model = computedModel('computed', functions, everyType);
    await store.ensureModel(model);
    const titles = ['One two', 'a b c', undefined, 'Zeta'];
    await Promise.all(
      titles.map((title, i) =>
        (i % 2 === 0 ? store : other).write(createOf(model, titled(`o-${i}`, title, { year: 2000 + i }))),
      ),
    );
    for (const replica of [store, other]) {
      expect(await names(replica, model, 'words>1')).toEqual(['o-0', 'o-1']);
      expect(await names(replica, model, '!words')).toEqual(['o-2']);
      expect(await names(replica, model, 'letters=(a,Z)')).toEqual(['o-1', 'o-3']);
      expect(await names(replica, model, 'lower^=o')).toEqual(['o-0']);
      expect(await names(replica, model, 'year>2001-06-01')).toEqual(['o-2', 'o-3']);
      expect(await names(replica, model, 'half=1000.5')).toEqual(['o-1']);
      expect(await names(replica, model, 'even=true')).toEqual(['o-0', 'o-2']);
      expect(await names(replica, model, '', ['words,desc', 'lower'])).toEqual(['o-1', 'o-0', 'o-3', 'o-2']);
    }
    await expect(other.write(createOf(model, titled('o-9', 'ONE TWO')))).rejects.toMatchObject({
      code: 'UniqueClash',
      index: 'lower',
    });
    await expect(store.write(createOf(model, titled('o-9', 'zeta')), { dryRun: true })).rejects.toMatchObject({
      code: 'UniqueClash',
      index: 'lower',
    });
    await change(store, model, 'o-0', { title: 'now four words here' });
    await other.write(createOf(model, titled('o-9', 'ONE TWO')));
    expect(await names(other, model, 'words=4')).toEqual(['o-0']);
    expect(await names(store, model, 'words=2')).toEqual(['o-9']);
  });

  test('a value that an index cannot hold is refused with its name, and nothing is written', async () => {
    const { store } = pair();
    const model = computedModel(
      'refused',
      { f: '(o) => o.spec.throws ? missing() : o.spec.value', list: '(o) => o.spec.list' },
      [
        { name: 'number', key: 'f', type: 'integer', nullable: false },
        { name: 'several', key: 'list', multi: true },
      ],
    );
    await store.ensureModel(model);
    const rows: [spec: JsonObject, reason: string, field: string][] = [
      [{ throws: true }, 'FieldValueInvalid', 'number'],
      [{ value: 1.5 }, 'FieldValueInvalid', 'number'],
      [{ value: 'x' }, 'FieldValueTypeInvalid', 'number'],
      [{ value: 2 ** 53 }, 'FieldValueInvalid', 'number'],
      [{}, 'FieldValueRequired', 'number'],
      [{ value: 1, list: ['x'.repeat(1025)] }, 'FieldValueTooLong', 'several'],
      [{ value: 1, list: [1] }, 'FieldValueTypeInvalid', 'several'],
      [{ value: 1, list: Array.from({ length: 10_001 }, (_, i) => String(i)) }, 'FieldValueTooMany', 'several'],
    ];
    for (const [spec, reason, field] of rows) {
      const refusal = await store.write(createOf(model, sampleObject('x', { spec }))).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'InvalidKey', causes: [{ reason, field }] });
    }
    expect(await store.get(resourceOf(model), { namespace: '', name: 'x' })).toBeUndefined();
    await store.write(createOf(model, sampleObject('x', { spec: { value: 1, list: ['a', 'a'] } })));
    await expect(change(store, model, 'x', { value: true })).rejects.toMatchObject({ code: 'InvalidKey' });
  });

  test('an object can be deleted, whatever a function computes for it', async () => {
    const { store } = pair();
    const model = computedModel(
      'going',
      { f: '(o) => { if (o.metadata.deletionTimestamp) throw new Error(); return o.metadata.name; }' },
      [{ name: 'f', key: 'f', unique: true }],
    );
    await store.ensureModel(model);
    const from = await store.write(createOf(model, sampleObject('a')));
    const object = decodeBody(from.body, from.revision);
    object.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    const marked = await store.write({ type: 'update', resource: resourceOf(model), object, fingerprint: 'f1', from });
    expect(await names(store, model, '!f')).toEqual(['a']);
    await store.write({ type: 'delete', resource: resourceOf(model), object, fingerprint: 'f1', from: marked });
    await store.write(createOf(model, sampleObject('a')));
  });

  test('an object that is being deleted can be removed, however many keys its indexes have together', async () => {
    const { store } = pair();
    const many = '(o) => (o.metadata.deletionTimestamp ? Array.from({ length: 10_000 }, (_, i) => i) : [])';
    const computed = computedModel(
      'crowded',
      { many },
      ['a', 'b', 'c'].map((name) => ({ name, key: 'many', type: 'integer', multi: true })),
    );
    const paths = ['d', 'e', 'f'].map((name): IndexDefinition => ({
      name,
      path: 'spec.list[*]',
      type: 'integer',
      multi: true,
      unique: false,
      nullable: true,
    }));
    const model = { ...computed, indexes: [...computed.indexes, ...paths] };
    await store.ensureModel(model);
    const from = await store.write(
      createOf(model, sampleObject('a', { spec: { list: Array.from({ length: 10_000 }, (_, i) => i) } })),
    );
    const object = decodeBody(from.body, from.revision);
    object.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    await store.write({ type: 'update', resource: resourceOf(model), object, fingerprint: 'f1', from });
    await remove(store, model, 'a');
  });

  test('a replica with outdated functions of a model computes with the current ones', async () => {
    const { store, other } = pair();
    const before = sampleModel('behind', { indexes: [] });
    await store.ensureModel(before);
    await store.write(createOf(before, titled('a', 'one two')));
    const from = await other.get(resourceOf(before), { namespace: '', name: 'a' });
    const lower = { name: 'lower', key: 'lower', unique: true };
    const model = computedModel('behind', functions, [words, lower]);
    await store.ensureModel(model);
    await settled(store, model);
    expect(await names(other, model, 'words=2')).toEqual(['a']);
    const changed = computedModel('behind', { ...functions, words: '(o) => o.spec.title.length' }, [words, lower]);
    await store.ensureModel(changed);
    await settled(store, changed);
    await expect(other.write(createOf(model, titled('b', 'ONE TWO')), { dryRun: true })).rejects.toMatchObject({
      code: 'UniqueClash',
      index: 'lower',
    });
    // The other replica caches indexes that are gone.
    await store.ensureModel(model);
    await settled(store, model);
    await other.indexStates(resourceOf(model));
    await store.ensureModel(changed);
    await settled(store, changed);
    await change(other, model, 'a', { title: 'three' }, from);
    expect(await names(other, changed, 'words=5')).toEqual(['a']);
  });

  test('indexes added to existing data are filled, and one whose function changed is rebuilt', async () => {
    const { store, other } = pair();
    const before = sampleModel('filled', { indexes: [] });
    await store.ensureModel(before);
    await Promise.all(
      Array.from({ length: 250 }, (_, i) =>
        store.write(createOf(before, titled(`o-${i}`, `t ${i % 2 === 0 ? 'x' : 'x y'}`, { year: 1000 + i }))),
      ),
    );
    const model = computedModel(
      'filled',
      functions,
      everyType.filter(({ name }) => name !== 'lower'),
    );
    await other.ensureModel(model);
    // Written by the replica that does not know the change.
    await store.write(createOf(before, titled('late', 'a b c d', { year: 1001 })));
    await settled(other, model);
    for (const replica of [store, other]) {
      expect([(await names(replica, model, 'words=2')).length, await names(replica, model, 'words=4')]).toEqual([
        125,
        ['late'],
      ]);
      expect([
        (await names(replica, model, 'even=true')).length,
        (await names(replica, model, 'letters=y')).length,
        (await names(replica, model, 'year<=1101-01-01')).length,
      ]).toEqual([125, 125, 103]);
    }
    const changed = computedModel('filled', { ...functions, words: '(o) => 7' }, [words]);
    await store.ensureModel(changed);
    await expect(
      store.page(resourceOf(model), {
        ...queryOf(model, 'words=2'),
        page: 1,
        size: 1,
        exactTotal: false,
        exactTotalLimit: 1,
      }),
    ).rejects.toMatchObject({ code: 'IndexNotReady' });
    await other.write(createOf(model, titled('later', 'a')));
    expect(await settled(store, changed)).toEqual([{ name: 'words', state: 'ready' }]);
    expect((await names(other, changed, 'words=7')).length).toBe(252);
  });

  test('an index fails if its function fails for an object, names the object, and recovers when the object changes', async () => {
    const { store } = pair();
    const before = sampleModel('failing', { indexes: [] });
    await store.ensureModel(before);
    for (const title of ['good', 'bad', 'best']) await store.write(createOf(before, titled(title, title)));
    const model = computedModel('failing', functions, [words]);
    await store.ensureModel(model);
    expect(await settled(store, model)).toEqual([
      { name: 'words', state: 'failed', message: 'the function fails for bad' },
    ]);
    await expect(names(store, model, 'words=1')).rejects.toMatchObject({ code: 'IndexNotReady' });
    await change(store, model, 'bad', { title: 'mended now' });
    await store.ensureModel(model);
    expect(await settled(store, model)).toEqual([{ name: 'words', state: 'ready' }]);
    expect(await names(store, model, 'words>1')).toEqual(['bad']);
  });

  test('the feed has computed keys before and after, the same from memory and from the log', async () => {
    const { store, other } = pair();
    const model = computedModel('told', functions, everyType);
    const [index] = model.indexes;
    await store.ensureModel(model);
    await Promise.all([store.changes.catchUp(), other.changes.catchUp()]);
    const start = store.changes.cursor;
    const heard: Change[] = [];
    const stop = store.changes.subscribe((changes) => heard.push(...changes));
    const first = await store.write(createOf(model, titled('a', 'one', { year: 2000 })));
    const second = await change(store, model, 'a', { title: 'one two' }, first);
    await Promise.all([change(store, model, 'a', {}, second), store.write(createOf(model, titled('b', 'x y z')))]);
    await remove(store, model, 'a');
    await store.changes.catchUp();
    stop();
    const keyOf = (text: string | undefined): unknown =>
      text === undefined || !isComputedIndex(index!)
        ? undefined
        : computedKeyOf(index, JSON.parse(text) as ComputedKeys);
    expect(heard.map(({ name, type, keys, old }) => [name, type, keyOf(old?.keys), keyOf(keys)])).toEqual([
      ['a', 'create', undefined, 1],
      ['a', 'update', 1, 2],
      ...(heard[2]!.name === 'a'
        ? [
            ['a', 'update', 2, null],
            ['b', 'create', undefined, 3],
          ]
        : [
            ['b', 'create', undefined, 3],
            ['a', 'update', 2, null],
          ]),
      ['a', 'delete', null, undefined],
    ]);
    await other.changes.catchUp();
    expect((await other.changes.read(resourceOf(model), start)).changes).toEqual(heard);
    expect((await other.changes.incarnationOf(resourceOf(model)))!.computedSince.get(index!.computed!.id)).toBe(0);
  });

  test('chunks are one snapshot, also by computed keys', async () => {
    const { store, other } = pair();
    const model = computedModel('chunked', functions, [words]);
    await store.ensureModel(model);
    await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        store.write(createOf(model, titled(`o-${String(i).padStart(2, '0')}`, 'w '.repeat(i % 5).trim() || undefined))),
      ),
    );
    const wanted = await names(store, model, 'words>=1', ['words,desc']);
    const seen: string[] = [];
    let after: ChunkPosition | undefined;
    for (let round = 0; ; round += 1) {
      const { items, next } = await other.chunk(resourceOf(model), {
        ...queryOf(model, 'words>=1', ['words,desc']),
        limit: 5,
        ...(after === undefined ? {} : { after }),
      });
      seen.push(...items.map(({ name }) => name));
      after = next;
      if (next === undefined) break;
      await Promise.all(
        [0, 7, 11, 19, 23].map((i) =>
          change(store, model, `o-${String((i + round) % 30).padStart(2, '0')}`, {
            title: 'x '.repeat((i + round) % 6).trim(),
          }),
        ),
      );
    }
    expect(seen).toEqual(wanted);
  });

  test('an index that computes a field behaves as an index on its path', async () => {
    const { store, other } = pair();
    let run = 0;
    const value = fc.oneof(
      fc.constantFrom<JsonObject[string]>('a', 'ab', 'b', '', null, 'x'.repeat(1025)),
      fc.constantFrom<JsonObject[string]>(
        1,
        -0,
        2.5,
        2 ** 53,
        true,
        false,
        '2020-01-01',
        '2020-01-01T10:00:00.5+01:00',
      ),
    );
    const operation = fc.record({
      name: fc.constantFrom('p', 'q', 'r', 's'),
      what: fc.constantFrom('write', 'write', 'write', 'delete'),
      value,
      isOther: fc.boolean(),
    });
    const form = fc.record({
      type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'date'),
      unique: fc.boolean(),
      nullable: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        form,
        fc.array(operation, { maxLength: 12 }),
        fc.array(operation, { maxLength: 4 }),
        async (shape, operations, before) => {
          run += 1;
          const name = 'x';
          const path = sampleModel(`path${run}`, { indexes: [{ name, path: 'spec.x', multi: false, ...shape }] });
          const computed = computedModel(`key${run}`, { x: '(o) => o.spec.x' }, [{ name, key: 'x', ...shape }]);
          const both = [path, computed];
          for (const model of both) await store.ensureModel({ ...model, indexes: [] });
          const outcomes: unknown[][] = [[], []];
          const apply = async ({ name: of, what, value: x, isOther }: (typeof operations)[number]): Promise<void> => {
            for (const [i, model] of both.entries()) {
              const replica = isOther ? other : store;
              const present = await replica.get(resourceOf(model), { namespace: '', name: of });
              const work =
                present === undefined
                  ? replica.write(createOf(model, sampleObject(of, { spec: { x: x ?? null } })))
                  : what === 'delete'
                    ? remove(replica, model, of)
                    : change(replica, model, of, { x: x ?? null }, present);
              outcomes[i]!.push(
                await work.then(
                  () => 'done',
                  (error: { code: string; causes?: { reason: string }[] }) => [
                    error.code,
                    error.causes?.map(({ reason }) => reason),
                  ],
                ),
              );
            }
          };
          for (const each of before) await apply(each);
          const states: unknown[] = [];
          for (const model of both) {
            await store.ensureModel(model);
            states.push((await settled(other, model))[0]!.state);
          }
          const from = await store.changes.catchUp();
          for (const each of operations) await apply(each);
          expect(outcomes[1]).toEqual(outcomes[0]);
          expect(states[1]).toEqual(states[0]);
          if (states[0] !== 'ready') return;
          await Promise.all([store.changes.catchUp(), other.changes.catchUp()]);
          const forms = [
            'x',
            '!x',
            ...{
              string: ['x=a', 'x^=a', 'x!=b'],
              integer: ['x=1', 'x>0'],
              number: ['x>=0', 'x=(1,2.5)'],
              boolean: ['x=true'],
              date: ['x>2019-01-01', 'x=2020-01-01'],
            }[shape.type as 'string'],
          ];
          for (const fields of forms)
            for (const sort of [['x'], ['x,desc']])
              expect(await names(other, computed, fields, sort)).toEqual(await names(store, path, fields, sort));
          const told = await Promise.all(
            both.map(async (model) => (await other.changes.read(resourceOf(model), from)).changes),
          );
          for (const fields of forms) {
            const seen = both.map((model, i) => {
              const matches = compileSelector({ labels: [], fields: parseFieldSelector([fields], model.indexes) });
              const of = (side: { body: string; keys?: string } | undefined): boolean | undefined =>
                side === undefined
                  ? undefined
                  : matches(JSON.parse(side.body), side.keys === undefined ? undefined : JSON.parse(side.keys));
              return told[i]!.map((each) => [
                each.name,
                each.type,
                of(each.old),
                each.type === 'delete' ? undefined : of(each),
              ]);
            });
            expect(seen[1]).toEqual(seen[0]);
          }
        },
      ),
      { numRuns: 12 },
    );
  });
}
