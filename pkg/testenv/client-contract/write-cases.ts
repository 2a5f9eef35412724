import { expect, test } from '@jest/globals';
import { isFenceLost, type ApiObject, type JsonObject, type ResourceType } from '#pkg/apimachinery/index';
import { frozen, noteKey, type Contract } from './contract-case.ts';
import { newNote, noteType, type Note } from './note-model.ts';

const unicode = 'Grüße 世界 \u{1F600} "quoted" \\ back\nline\ttab \u2028 \u0001';

export function clientWriteCases({ client, transport, namespace }: Contract): void {
  test('create returns the stored object', async () => {
    const created = await client().create(noteType, newNote(namespace, 'created', { rank: 1 }, { labels: { a: 'b' } }));
    expect(created).toEqual(await client().get(noteType, { namespace, name: 'created' }));
    expect(created.metadata).toMatchObject({ generation: 1, labels: { a: 'b' } });
  });

  test('a name is generated', async () => {
    const object = newNote(namespace, '', {}, { generateName: 'generated-' });
    const created = await client().create(noteType, object);
    expect(created.metadata.name).toMatch(/^generated-[a-z0-9]{5}$/);
  });

  test('any text is returned unchanged', async () => {
    const created = await client().create(
      noteType,
      newNote(
        namespace,
        'unicode',
        { title: 'x', text: unicode, extra: { [unicode]: [unicode, { deep: unicode }] } },
        { annotations: { note: unicode } },
      ),
    );
    expect(created.spec).toEqual({ title: 'x', text: unicode, extra: { [unicode]: [unicode, { deep: unicode }] } });
    expect((await client().get(noteType, noteKey(created))).metadata.annotations).toEqual({ note: unicode });
  });

  test('an object may be large', async () => {
    const text = 'ü'.repeat(1_000_000);
    const created = await client().create(noteType, newNote(namespace, 'large', { text }));
    expect(created.spec!.text).toBe(text);
    const list = await client().list(noteType, { namespace, fieldSelector: 'metadata.name=large' });
    expect(list.items[0]).toEqual(created);
    await client().delete(noteType, noteKey(created));
  });

  test('properties that are undefined are not sent, in objects and in patches', async () => {
    const object = newNote(namespace, 'undefined', {
      text: undefined,
      extra: { a: undefined, b: [undefined] },
    } as unknown as Note['spec'] & object);
    const created = await client().create(noteType, object);
    expect(created.spec).toEqual({ title: 'a title', extra: { b: [null] } });
    const patch = { spec: { title: undefined, text: undefined, rank: 3 } } as unknown as JsonObject;
    expect((await client().patch(noteType, noteKey(created), { type: 'merge', patch })).spec).toEqual({
      ...created.spec,
      rank: 3,
    });
  });

  test('the given object is not changed and not kept', async () => {
    const extra = { list: [1, { two: 2 }] };
    const created = frozen(await client().create(noteType, frozen(newNote(namespace, 'frozen', { extra }))));
    const updated = frozen(
      await client().update(noteType, frozen({ ...created, spec: { ...created.spec!, rank: 2 } })),
    );
    const status = frozen(await client().updateStatus(noteType, frozen({ ...updated, status: { phase: 'Done' } })));
    const merge = frozen({ type: 'merge' as const, patch: { spec: { extra: { more: { a: 1 } } } } });
    const merged = await client().patch(noteType, noteKey(created), merge);
    // A caller may change the returned object.
    (merged.spec!.extra as JsonObject)['more'] = 'mine';
    const json = frozen({ type: 'json' as const, patch: [{ op: 'add', path: '/spec/extra/again', value: { b: 1 } }] });
    const patched = await client().patch(noteType, noteKey(created), json);
    expect(patched.spec).toEqual({ title: 'a title', rank: 2, extra: { ...extra, more: { a: 1 }, again: { b: 1 } } });
    expect(patched.status).toEqual(status.status);
  });

  test('an update replaces the object and ignores status; status is written separately', async () => {
    const created = await client().create(noteType, newNote(namespace, 'updated', { rank: 1, text: 'x' }));
    const updated = await client().update(noteType, {
      ...created,
      spec: { title: 'new' },
      status: { phase: 'ignored' },
    });
    expect(updated.spec).toEqual({ title: 'new' });
    expect(updated.status).toBeUndefined();
    expect(updated.metadata.generation).toBe(2);
    const done = await client().updateStatus(noteType, {
      ...updated,
      spec: { title: 'ignored' },
      status: { phase: 'Done' },
    });
    expect(done).toMatchObject({ spec: { title: 'new' }, status: { phase: 'Done' }, metadata: { generation: 2 } });
    const counted = await client().patchStatus(noteType, noteKey(created), {
      type: 'merge',
      patch: { status: { words: 3 }, spec: { title: 'ignored' } },
    });
    expect(counted).toMatchObject({ spec: { title: 'new' }, status: { phase: 'Done', words: 3 } });
    expect(await client().get(noteType, noteKey(created))).toEqual(counted);
  });

  test('a write that changes nothing keeps the revision', async () => {
    const created = await client().create(noteType, newNote(namespace, 'same'));
    expect(await client().update(noteType, created)).toEqual(created);
    expect(await client().patch(noteType, noteKey(created), { type: 'merge', patch: {} })).toEqual(created);
  });

  test('patches: null deletes in one kind, operations apply in order in the other', async () => {
    const key = noteKey(await client().create(noteType, newNote(namespace, 'patched', { rank: 1, text: 'x' })));
    expect(
      (await client().patch(noteType, key, { type: 'merge', patch: { spec: { text: null, rank: 2 } } })).spec,
    ).toEqual({ title: 'a title', rank: 2 });
    const patch = [
      { op: 'test', path: '/spec/rank', value: 2 },
      { op: 'copy', from: '/spec/title', path: '/spec/text' },
      { op: 'replace', path: '/spec/title', value: 'b' },
    ];
    expect((await client().patch(noteType, key, { type: 'json', patch })).spec).toEqual({
      title: 'b',
      rank: 2,
      text: 'a title',
    });
    const json = await client().patchStatus(noteType, key, {
      type: 'json',
      patch: [{ op: 'add', path: '/status', value: { words: 1 } }],
    });
    expect(json.status).toEqual({ words: 1 });
  });

  test('a deletion returns what was deleted', async () => {
    const { metadata } = await client().create(noteType, newNote(namespace, 'deleted'));
    expect(await client().delete(noteType, { namespace, name: 'deleted' })).toEqual({ uid: metadata.uid });
    await expect(client().get(noteType, { namespace, name: 'deleted' })).rejects.toMatchObject({
      code: 404,
      reason: 'NotFound',
    });
  });

  test('finalizers keep an object until the last is removed', async () => {
    const created = await client().create(
      noteType,
      newNote(namespace, 'held', {}, { finalizers: ['example.com/hold'] }),
    );
    const deletion = await client().delete(noteType, noteKey(created), { propagationPolicy: 'Background' });
    expect(deletion).toMatchObject({
      uid: created.metadata.uid,
      object: { metadata: { name: 'held', finalizers: ['example.com/hold'], deletionTimestamp: expect.any(String) } },
    });
    await client().patch(noteType, noteKey(created), { type: 'merge', patch: { metadata: { finalizers: null } } });
    await expect(client().get(noteType, noteKey(created))).rejects.toMatchObject({ reason: 'NotFound' });
  });

  test('a deletion obeys its preconditions', async () => {
    const created = await client().create(noteType, newNote(namespace, 'meant'));
    const newer = await client().patch(noteType, noteKey(created), { type: 'merge', patch: { spec: { rank: 1 } } });
    const conflict = { code: 409, reason: 'Conflict' };
    await expect(
      client().delete(noteType, noteKey(created), { uid: '00000000-0000-0000-0000-000000000000' }),
    ).rejects.toMatchObject(conflict);
    await expect(
      client().delete(noteType, noteKey(created), { resourceVersion: created.metadata.resourceVersion }),
    ).rejects.toMatchObject(conflict);
    const { uid, resourceVersion } = newer.metadata;
    expect(await client().delete(noteType, noteKey(created), { uid, resourceVersion })).toEqual({ uid });
  });

  test('a dry run returns the outcome and stores nothing', async () => {
    const dryRun = true;
    const tried = await client().create(noteType, newNote(namespace, 'tried'), { dryRun });
    expect(tried.metadata.uid).toEqual(expect.any(String));
    await expect(client().get(noteType, { namespace, name: 'tried' })).rejects.toMatchObject({ reason: 'NotFound' });
    const real = await client().create(noteType, newNote(namespace, 'real'));
    expect((await client().update(noteType, { ...real, spec: { title: 'b' } }, { dryRun })).spec!.title).toBe('b');
    expect(
      (await client().patch(noteType, noteKey(real), { type: 'merge', patch: { spec: { title: 'b' } } }, { dryRun }))
        .spec!.title,
    ).toBe('b');
    expect(
      (
        await client().patchStatus(
          noteType,
          noteKey(real),
          { type: 'merge', patch: { status: { phase: 'b' } } },
          { dryRun },
        )
      ).status!.phase,
    ).toBe('b');
    expect((await client().delete(noteType, noteKey(real), { dryRun })).uid).toBe(real.metadata.uid);
    expect(await client().get(noteType, noteKey(real))).toEqual(real);
  });

  test('unknown fields are removed silently, removed with a warning, or refused', async () => {
    const named = (name: string): Note =>
      newNote(namespace, name, { 'unknown-ü': 1 } as Partial<Note['spec'] & object>);
    const before = transport().warnings.length;
    expect((await client().create(noteType, named('ignored'), { fieldValidation: 'Ignore' })).spec).toEqual({
      title: 'a title',
    });
    expect(transport().warnings).toHaveLength(before);
    await client().create(noteType, named('warned'));
    expect(transport().warnings.slice(before)).toEqual([expect.stringContaining('unknown field "spec.unknown-ü"')]);
    await expect(client().create(noteType, named('refused'), { fieldValidation: 'Strict' })).rejects.toMatchObject({
      code: 400,
      reason: 'BadRequest',
    });
  });

  test('a write with a fence succeeds as long as the lease is held', async () => {
    const leases: ResourceType<ApiObject<{ holderIdentity: string; leaseTransitions: number }>> = {
      group: 'coordination.k8s.io',
      version: 'v1',
      kind: 'Lease',
      plural: 'leases',
      namespaced: true,
      hasStatusSubresource: false,
    };
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name: 'publishing' },
      spec: { holderIdentity: 'this', leaseTransitions: 3 },
    };
    await client().create(leases, lease);
    const fence = { namespace, lease: 'publishing', transitions: 3 };
    const created = await client().create(noteType, newNote(namespace, 'fenced'), { fence });
    await client().patch(
      leases,
      { namespace, name: 'publishing' },
      { type: 'merge', patch: { spec: { leaseTransitions: 4 } } },
    );
    const writes = [
      client().create(noteType, newNote(namespace, 'fenced-2'), { fence }),
      client().update(noteType, { ...created, spec: { title: 'b' } }, { fence }),
      client().updateStatus(noteType, { ...created, status: { phase: 'b' } }, { fence }),
      client().patch(noteType, noteKey(created), { type: 'merge', patch: { spec: { title: 'b' } } }, { fence }),
      client().patchStatus(noteType, noteKey(created), { type: 'merge', patch: { status: { phase: 'b' } } }, { fence }),
      client().delete(noteType, noteKey(created), { fence }),
    ];
    for (const outcome of await Promise.allSettled(writes))
      expect(outcome.status === 'rejected' && isFenceLost(outcome.reason)).toBe(true);
    expect(await client().get(noteType, noteKey(created))).toEqual(created);
    await expect(
      client().delete(noteType, noteKey(created), { fence: { ...fence, lease: 'NO' } }),
    ).rejects.toMatchObject({ code: 400 });
  });

  test('concurrent writes are all done, and of updates from one revision one is', async () => {
    const created = await Promise.all(
      Array.from({ length: 100 }, (_, i) => client().create(noteType, newNote(namespace, `at-once-${i}`, { rank: i }))),
    );
    expect(new Set(created.map(({ metadata }) => metadata.resourceVersion)).size).toBe(100);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => client().update(noteType, { ...created[0]!, spec: { title: `by ${i}` } })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 409, reason: 'Conflict' });
  });
}
