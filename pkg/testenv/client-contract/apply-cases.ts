import { expect, test } from '@jest/globals';
import {
  isApplyConflict,
  isFenceLost,
  type ApiObject,
  type ApplyConfiguration,
  type JsonObject,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import { frozen, noteKey, type Contract } from './contract-case.ts';
import { newNote, noteType, type Note, type NoteSpec } from './note-model.ts';

const configMaps: ResourceType<ApiObject> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  hasStatusSubresource: false,
};

function configuration(namespace: string, name: string, spec: Partial<NoteSpec>): ApplyConfiguration<Note> {
  return { apiVersion: 'transports.example.com/v1', kind: 'Note', metadata: { namespace, name }, spec };
}

/** `svc Update status: f:phase`. Sorted, as the entries' order depends on the second of each write. */
function managersOf({ metadata: { managedFields = [] } }: Stored<ApiObject<unknown, unknown>>): string[] {
  const managers = managedFields.map(({ manager, operation, subresource, fieldsV1 }) => {
    const { 'f:spec': spec, 'f:status': status, 'f:data': data } = fieldsV1 as Record<string, JsonObject>;
    const fields = Object.keys(spec ?? status ?? data ?? {}).filter((key) => key !== '.');
    return `${manager as string} ${operation as string}${subresource === undefined ? '' : ` ${subresource as string}`}: ${fields.join(' ')}`;
  });
  return managers.toSorted();
}

export function applyCases({ client, namespace }: Contract): void {
  const as = (fieldManager: string): { fieldManager: string } => ({ fieldManager });

  test('apply creates an object, gives up what is left out, and keeps what others set', async () => {
    const wanted = frozen(configuration(namespace, 'applied', { title: 'a', rank: 1, extra: { a: [1] } }));
    const created = await client().apply(noteType, wanted, as('one'));
    expect(created).toEqual(await client().get(noteType, noteKey(created)));
    expect(created.spec).toEqual(wanted.spec);
    await client().patch(noteType, noteKey(created), { type: 'merge', patch: { spec: { text: 'b' } } });
    const fewer = await client().apply(noteType, configuration(namespace, 'applied', { title: 'a' }), as('one'));
    expect(fewer.spec).toEqual({ title: 'a', text: 'b' });
    expect(managersOf(fewer)).toEqual(['one Apply: f:title', 'svc Update: f:text']);
  });

  test('an apply that changes nothing writes nothing', async () => {
    const wanted = configuration(namespace, 'applied-twice', { title: 'a', extra: { b: { c: 1 } } });
    const created = await client().apply(noteType, wanted);
    expect(managersOf(created)).toEqual(['svc Apply: f:extra f:title']);
    expect(await client().apply(noteType, wanted)).toEqual(created);
    const status = { ...configuration(namespace, 'applied-twice', {}), status: { phase: 'Done' } };
    const done = await client().applyStatus(noteType, status);
    expect(await client().applyStatus(noteType, status)).toEqual(done);
    expect(await client().apply(noteType, wanted)).toEqual(done);
  });

  test('a conflict names managers and fields, and force takes them', async () => {
    const key = { namespace, name: 'fought-for' };
    await client().apply(noteType, configuration(namespace, key.name, { title: 'a', rank: 1 }), as('o"ne'));
    await client().patch(noteType, key, { type: 'merge', patch: { spec: { rank: 2 } } }, as('two'));
    const wanted = configuration(namespace, key.name, { title: 'b', rank: 3 });
    const refused = await client()
      .apply(noteType, wanted, as('three'))
      .catch((error: unknown) => error);
    if (!isApplyConflict(refused)) throw refused;
    expect([refused.code, refused.reason, refused.message]).toEqual([
      409,
      'Conflict',
      [
        'Apply failed with 2 conflicts: conflicts with "o\\"ne":',
        '- .spec.title',
        'conflicts with "two" using transports.example.com/v1:',
        '- .spec.rank',
      ].join('\n'),
    ]);
    expect(refused.conflicts).toEqual([
      { manager: 'o"ne', field: '.spec.title' },
      { manager: 'two', field: '.spec.rank' },
    ]);
    const taken = await client().apply(noteType, wanted, { ...as('three'), force: true });
    expect(taken.spec).toEqual({ title: 'b', rank: 3 });
    expect(managersOf(taken)).toEqual(['three Apply: f:rank f:title']);
  });

  test('every write has a manager: its own, or that of the client', async () => {
    const created = await client().create(noteType, newNote(namespace, 'managed', { rank: 1 }), as('creator'));
    const key = noteKey(created);
    await client().update(noteType, { ...created, spec: { title: 'b', rank: 1 } }, as('updater'));
    await client().patch(noteType, key, { type: 'merge', patch: { spec: { text: 'x' } } });
    const add = { op: 'add', path: '/spec/extra', value: 1 };
    const latest = await client().patch(noteType, key, { type: 'json', patch: [add] }, as(''));
    await client().updateStatus(noteType, { ...latest, status: { phase: 'a' } }, as('updater'));
    await client().patchStatus(noteType, key, { type: 'merge', patch: { status: { words: 1 } } }, as('patcher'));
    const spec = { ...configuration(namespace, 'managed', {}), status: { phase: 'a' } };
    const last = await client().applyStatus(noteType, spec, as('applier'));
    expect(managersOf(last)).toEqual([
      'applier Apply status: f:phase',
      'creator Update: f:rank',
      'patcher Update status: f:words',
      'svc Update: f:extra f:text',
      'updater Update status: f:phase',
      'updater Update: f:title',
    ]);
  });

  test('the status is applied alone, and only to an object that exists', async () => {
    const status = { ...configuration(namespace, 'with-status', { title: 'ignored' }), status: { phase: 'a' } };
    await expect(client().applyStatus(noteType, status)).rejects.toMatchObject({ code: 404, reason: 'NotFound' });
    await client().create(noteType, newNote(namespace, 'with-status'));
    const done = await client().applyStatus(noteType, status);
    expect(done).toMatchObject({ spec: { title: 'a title' }, status: { phase: 'a' } });
    const again = await client().apply(
      noteType,
      { ...status, spec: { title: 'b' }, status: { phase: 'b' } },
      {
        force: true,
      },
    );
    expect(again).toMatchObject({ spec: { title: 'b' }, status: { phase: 'a' } });
  });

  test('a dry run of an apply returns the outcome and stores nothing', async () => {
    const dryRun = true;
    const wanted = configuration(namespace, 'tried-to-apply', { title: 'a' });
    expect((await client().apply(noteType, wanted, { dryRun })).spec).toEqual({ title: 'a' });
    await expect(client().get(noteType, { namespace, name: 'tried-to-apply' })).rejects.toMatchObject({ code: 404 });
    const real = await client().apply(noteType, wanted);
    const other = configuration(namespace, 'tried-to-apply', { title: 'b' });
    expect((await client().apply(noteType, other, { dryRun })).spec).toEqual({ title: 'b' });
    await expect(client().apply(noteType, other, { dryRun, fieldManager: 'other' })).rejects.toMatchObject({
      code: 409,
    });
    expect(await client().get(noteType, noteKey(real))).toEqual(real);
  });

  test.each<[string, (wanted: ApplyConfiguration<Note>) => ApplyConfiguration<Note>, object, object]>([
    ['no field manager', (wanted) => wanted, as(''), { code: 422, message: /PatchOptions.* fieldManager: Required/ }],
    ['a long field manager', (wanted) => wanted, as('x'.repeat(129)), { code: 422, message: /128 bytes/ }],
    ['a line end in it', (wanted) => wanted, as('a\nb'), { code: 422, message: /printable/ }],
    ['another kind', (wanted) => ({ ...wanted, kind: 'Other' }), {}, { code: 400, message: /does not match/ }],
    [
      'an unknown field',
      (wanted) => ({ ...wanted, spec: { title: 'a', nothing: 1 } as object }),
      {},
      { code: 400, message: /\.spec\.nothing: field not declared in schema/ },
    ],
    [
      'managed fields',
      (wanted) => ({ ...wanted, metadata: { ...wanted.metadata, managedFields: [] } }),
      {},
      { code: 400, message: /managedFields must be nil/ },
    ],
    ['a missing title', (wanted) => ({ ...wanted, spec: {} }), {}, { code: 422, message: /spec\.title: Required/ }],
    [
      'no name',
      (wanted) => ({ ...wanted, metadata: { namespace, name: '' } }),
      {},
      { code: 400, message: /name must be provided/ },
    ],
    [
      'the uid of an object that is gone',
      (wanted) => ({ ...wanted, metadata: { ...wanted.metadata, uid: 'u' } }),
      {},
      { code: 409, message: /uid mismatch/ },
    ],
  ])(
    'an apply with %s is refused',
    async (_, change, options, { code, message }: { code?: number; message?: RegExp }) => {
      const wanted = change(configuration(namespace, 'refused', { title: 'a' }));
      await expect(client().apply(noteType, wanted, options)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message!),
      });
    },
  );

  test('the manager of any write must be valid', async () => {
    const created = await client().create(noteType, newNote(namespace, 'badly-managed'));
    const invalid = { code: 422, reason: 'Invalid' };
    const bad = as('a\u0000b');
    await expect(client().create(noteType, newNote(namespace, 'x'), bad)).rejects.toMatchObject({
      ...invalid,
      message: expect.stringMatching(/^CreateOptions/),
    });
    await expect(client().update(noteType, created, bad)).rejects.toMatchObject({
      ...invalid,
      message: expect.stringMatching(/^UpdateOptions/),
    });
    await expect(client().patch(noteType, noteKey(created), { type: 'merge', patch: {} }, bad)).rejects.toMatchObject(
      invalid,
    );
  });

  test('a revision in a configuration is a precondition', async () => {
    const first = await client().apply(noteType, configuration(namespace, 'revised', { title: 'a' }));
    const at = ({ metadata }: Stored<Note>, title: string): ApplyConfiguration<Note> => ({
      ...configuration(namespace, 'revised', { title }),
      metadata: { ...noteKey(first), resourceVersion: metadata.resourceVersion },
    });
    const second = await client().apply(noteType, at(first, 'b'));
    expect(second.spec).toEqual({ title: 'b' });
    const stale = await client()
      .apply(noteType, at(first, 'c'))
      .catch((error: unknown) => error);
    expect(stale).toMatchObject({ code: 409, reason: 'Conflict' });
    expect(isApplyConflict(stale)).toBe(false);
  });

  test('an apply with a fence succeeds as long as the lease is held', async () => {
    const fence = { namespace, lease: 'never-held', transitions: 1 };
    const refused = await client()
      .apply(noteType, configuration(namespace, 'apply-fenced', { title: 'a' }), { fence })
      .catch((error: unknown) => error);
    expect(isFenceLost(refused)).toBe(true);
  });

  test('concurrent applies of several managers are all done', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `manager-${i}`);
    await Promise.all(
      names.map((name) =>
        client().apply(
          noteType,
          {
            ...configuration(namespace, 'shared', { title: 'same' }),
            metadata: { namespace, name: 'shared', labels: { [name]: 'x' } },
          },
          as(name),
        ),
      ),
    );
    const { metadata } = await client().get(noteType, { namespace, name: 'shared' });
    expect(Object.keys(metadata.labels!).toSorted()).toEqual(names.toSorted());
    expect(metadata.managedFields).toHaveLength(20);
  });

  test('a strategic merge patch merges lists by their keys, of built-in kinds only', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a' };
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name: 'strategic', ownerReferences: [{ ...owner, uid: '1' }] },
      data: { a: '1' },
    };
    await client().create(configMaps, map);
    const key = { namespace, name: 'strategic' };
    const patch = { metadata: { ownerReferences: [{ ...owner, uid: '2' }] }, data: { b: '2' } };
    const patched = await client().patch(configMaps, key, { type: 'strategic', patch }, as('patcher'));
    expect(patched.metadata.ownerReferences?.map(({ uid }) => uid).toSorted()).toEqual(['1', '2']);
    expect(managersOf(patched)).toEqual(['patcher Update: f:b', 'svc Update: f:a']);
    await client().create(noteType, newNote(namespace, 'strategic'));
    await expect(client().patch(noteType, key, { type: 'strategic', patch: {} })).rejects.toMatchObject({
      code: 415,
      reason: 'UnsupportedMediaType',
    });
  });
}
