import { beforeAll, expect, test } from '@jest/globals';
import {
  isStatusError,
  newConflict,
  StatusError,
  type Client,
  type JsonObject,
  type ResourceType,
} from '#pkg/apimachinery/index';
import type { Contract } from './contract-case.ts';
import { newNote, noteType, type Note } from './note-model.ts';

const leases: ResourceType<Note> = {
  ...noteType,
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
  hasStatusSubresource: false,
};
const nowhere: ResourceType<Note> = { ...noteType, plural: 'nowhere' };
const merge = { type: 'merge', patch: { spec: { rank: 1 } } } as const;

interface Failure {
  reason: string;
  call: (client: Client, namespace: string) => Promise<unknown>;
  error: { code: number; reason: string; message?: unknown; details?: unknown };
}

const notFound = { code: 404, reason: 'NotFound' };
const badRequest = { code: 400, reason: 'BadRequest' };

const failures: Failure[] = [
  {
    reason: 'get of a missing object',
    call: (client, namespace) => client.get(noteType, { namespace, name: 'absent' }),
    error: {
      ...notFound,
      message: 'notes.transports.example.com "absent" not found',
      details: { name: 'absent', group: 'transports.example.com', kind: 'notes' },
    },
  },
  {
    reason: 'update of a missing object',
    call: (client, namespace) => client.update(noteType, newNote(namespace, 'absent')),
    error: notFound,
  },
  {
    reason: 'patch of a missing object',
    call: (client, namespace) => client.patch(noteType, { namespace, name: 'absent' }, merge),
    error: notFound,
  },
  {
    reason: 'delete of a missing object',
    call: (client, namespace) => client.delete(noteType, { namespace, name: 'absent' }),
    error: notFound,
  },
  {
    reason: 'a missing type',
    call: (client, namespace) => client.list(nowhere, { namespace }),
    error: notFound,
  },
  {
    reason: 'a watch of a missing type',
    call: (client, namespace) => client.watch(nowhere, { namespace, resourceVersion: '1' }),
    error: notFound,
  },
  {
    reason: 'a missing namespace',
    call: (client) => client.create(noteType, newNote('absent', 'a')),
    error: { ...notFound, details: { name: 'absent', kind: 'namespaces' } },
  },
  {
    reason: 'an object of a namespaced type without a namespace',
    call: (client) => client.get(noteType, { namespace: '', name: 'taken' }),
    error: notFound,
  },
  {
    reason: 'status of a type without the subresource',
    call: (client, namespace) => client.patchStatus(leases, { namespace, name: 'a' }, merge),
    error: notFound,
  },
  {
    reason: 'an existing name',
    call: (client, namespace) => client.create(noteType, newNote(namespace, 'taken')),
    error: { code: 409, reason: 'AlreadyExists', details: { name: 'taken' } },
  },
  {
    reason: 'a revision that is not the newest',
    call: (client, namespace) => client.update(noteType, newNote(namespace, 'taken', {}, { resourceVersion: '1' })),
    error: { code: 409, reason: 'Conflict' },
  },
  {
    reason: 'values that violate the schema',
    call: (client, namespace) =>
      client.create(
        noteType,
        newNote(namespace, 'invalid', { title: 'x'.repeat(101), rank: 'high' as unknown as number }),
      ),
    error: {
      code: 422,
      reason: 'Invalid',
      details: {
        name: 'invalid',
        kind: 'Note',
        causes: [
          { reason: 'FieldValueTypeInvalid', field: 'spec.rank' },
          { reason: 'FieldValueTooLong', field: 'spec.title' },
        ],
      },
    },
  },
  {
    reason: 'an object of another kind',
    call: (client, namespace) => client.create(noteType, { ...newNote(namespace, 'a'), kind: 'Post' }),
    error: badRequest,
  },
  {
    reason: 'an object of another version',
    call: (client, namespace) =>
      client.update(noteType, { ...newNote(namespace, 'taken'), apiVersion: 'transports.example.com/v2' }),
    error: badRequest,
  },
  {
    reason: 'a patch that changes the name',
    call: (client, namespace) =>
      client.patch(noteType, { namespace, name: 'taken' }, { type: 'merge', patch: { metadata: { name: 'b' } } }),
    error: badRequest,
  },
  {
    reason: 'an invalid merge patch',
    call: (client, namespace) =>
      client.patch(noteType, { namespace, name: 'taken' }, { type: 'merge', patch: [] as unknown as JsonObject }),
    error: badRequest,
  },
  {
    reason: 'an invalid JSON patch',
    call: (client, namespace) =>
      client.patch(noteType, { namespace, name: 'taken' }, { type: 'json', patch: {} as unknown as [] }),
    error: badRequest,
  },
  {
    reason: 'a JSON patch that does not apply',
    call: (client, namespace) =>
      client.patch(
        noteType,
        { namespace, name: 'taken' },
        { type: 'json', patch: [{ op: 'remove', path: '/spec/nothing' }] },
      ),
    error: { code: 422, reason: 'Invalid' },
  },
  {
    reason: 'an invalid selector',
    call: (client, namespace) => client.list(noteType, { namespace, labelSelector: 'a in (' }),
    error: badRequest,
  },
  {
    reason: 'a selector of a field without an index',
    call: (client, namespace) => client.list(noteType, { namespace, fieldSelector: 'spec.text=a' }),
    error: { ...badRequest, details: { causes: expect.any(Array) } },
  },
  {
    reason: 'an invalid sort',
    call: (client, namespace) => client.list(noteType, { namespace, sort: ['nothing'] }),
    error: badRequest,
  },
  {
    reason: 'an invalid limit',
    call: (client, namespace) => client.list(noteType, { namespace, limit: -1 }),
    error: badRequest,
  },
  {
    reason: 'an invalid continue',
    call: (client, namespace) => client.list(noteType, { namespace, limit: 1, continue: 'x' }),
    error: badRequest,
  },
  {
    reason: 'a watch with an invalid selector',
    call: (client, namespace) => client.watch(noteType, { namespace, resourceVersion: '1', labelSelector: '=' }),
    error: badRequest,
  },
  {
    reason: 'a watch from an invalid revision',
    call: (client, namespace) => client.watch(noteType, { namespace, resourceVersion: '' }),
    error: badRequest,
  },
  {
    reason: 'a watch from revision 0',
    call: (client, namespace) => client.watch(noteType, { namespace, resourceVersion: '0' }),
    error: badRequest,
  },
  {
    reason: 'a watch from text that is not a revision',
    call: (client, namespace) => client.watch(noteType, { namespace, resourceVersion: 'x' }),
    error: badRequest,
  },
  { reason: 'no name', call: (client, namespace) => client.get(noteType, { namespace, name: '' }), error: badRequest },
  {
    reason: 'a deletion without a name',
    call: (client, namespace) => client.delete(noteType, { namespace, name: '' }),
    error: badRequest,
  },
  {
    reason: 'an update without a name',
    call: (client, namespace) => client.update(noteType, newNote(namespace, '')),
    error: badRequest,
  },
  {
    reason: 'a name with a path',
    call: (client, namespace) => client.get(noteType, { namespace, name: '../../namespaces' }),
    error: badRequest,
  },
  {
    reason: 'a name of dots',
    call: (client, namespace) => client.delete(noteType, { namespace, name: '..' }),
    error: badRequest,
  },
  {
    reason: 'a namespace with a path',
    call: (client) => client.list(noteType, { namespace: 'a/b' }),
    error: badRequest,
  },
  {
    reason: 'an empty precondition',
    call: (client, namespace) => client.delete(noteType, { namespace, name: 'taken' }, { uid: '' }),
    error: badRequest,
  },
  {
    reason: 'half a surrogate pair',
    call: (client, namespace) => client.create(noteType, newNote(namespace, 'a', { text: '\uD83D' })),
    error: badRequest,
  },
  {
    reason: 'a zero character',
    call: (client, namespace) => client.create(noteType, newNote(namespace, 'a', { text: 'a\u0000' })),
    error: badRequest,
  },
  {
    reason: 'a value that JSON cannot represent',
    call: (client, namespace) => client.create(noteType, newNote(namespace, 'a', { extra: 1n })),
    error: badRequest,
  },
  {
    reason: 'a circular object',
    call: (client, namespace) => client.create(noteType, newNote(namespace, 'a', { extra: circle() })),
    error: badRequest,
  },
  {
    reason: 'an object that is too deep',
    call: (client, namespace) => client.create(noteType, newNote(namespace, 'a', { extra: nested(5000) })),
    error: badRequest,
  },
  {
    reason: 'an object that is too large',
    call: (client, namespace) => client.create(noteType, newNote(namespace, 'a', { text: 'x'.repeat(3_200_000) })),
    error: { code: 413, reason: 'RequestEntityTooLarge' },
  },
];

function circle(): unknown {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}

function nested(depth: number): unknown {
  let value: unknown = {};
  for (let i = 0; i < depth; i += 1) value = { value };
  return value;
}

export function failureCases({ client, namespace }: Contract): void {
  beforeAll(() => client().create(noteType, newNote(namespace, 'taken')));

  test.each(failures)('$reason', async ({ call, error }) => {
    const outcome = await call(client(), namespace).then(
      () => 'nothing failed',
      (failure: unknown) => failure,
    );
    expect(outcome).toBeInstanceOf(StatusError);
    expect(outcome).toMatchObject(error);
  });

  test.each([
    ['get', (signal: AbortSignal) => client().get(noteType, { namespace, name: 'taken' }, { signal })],
    ['list', (signal: AbortSignal) => client().list(noteType, { namespace, signal })],
    ['create', (signal: AbortSignal) => client().create(noteType, newNote(namespace, 'never'), { signal })],
    ['update', (signal: AbortSignal) => client().update(noteType, newNote(namespace, 'taken'), { signal })],
    [
      'patchStatus',
      (signal: AbortSignal) => client().patchStatus(noteType, { namespace, name: 'taken' }, merge, { signal }),
    ],
    ['delete', (signal: AbortSignal) => client().delete(noteType, { namespace, name: 'taken' }, { signal })],
  ])('a fired signal prevents a %s, with its own error or as a time-out', async (_verb, call) => {
    await expect(call(AbortSignal.abort())).rejects.toMatchObject({ code: 504, reason: 'Timeout' });
    const own = newConflict({ group: '', resource: 'leases' }, 'a', 'it is another now');
    await expect(call(AbortSignal.abort(own))).rejects.toMatchObject({ code: 409, message: own.message });
    await client().get(noteType, { namespace, name: 'taken' });
  });

  test('a signal that fires during a call ends the wait, and nothing else', async () => {
    const aborter = new AbortController();
    const calls = Array.from({ length: 50 }, () => client().list(noteType, { namespace, signal: aborter.signal }));
    const other = client().get(noteType, { namespace, name: 'taken' });
    aborter.abort();
    for (const outcome of await Promise.allSettled(calls)) {
      if (outcome.status === 'rejected') expect(isStatusError(outcome.reason, 'Timeout')).toBe(true);
    }
    expect((await other).metadata.name).toBe('taken');
  });
}
