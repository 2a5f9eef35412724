import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type ApiObject, type ResourceType } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '../../testenv/index.ts';
import { connect } from '../connect.ts';
import type { Resource } from '../resource/resource.ts';
import { edit } from './edit.ts';

type Service = ApiObject<{ title?: string; owner?: string; ports?: { name: string; port: number }[] }>;

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'services.edit.example.com' },
  spec: {
    group: 'edit.example.com',
    scope: 'Namespaced',
    names: { plural: 'services', singular: 'service', kind: 'Service' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        indexes: [{ name: 'title', path: 'spec.title', type: 'string', unique: true }],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  title: { type: 'string' },
                  owner: { type: 'string' },
                  ports: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: {
                      type: 'object',
                      required: ['name'],
                      properties: { name: { type: 'string' }, port: { type: 'integer' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
} as const;
/** As `defineModel` makes it. */
const model: ResourceType<Service> & { definition: unknown } = {
  group: 'edit.example.com',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
  hasStatusSubresource: false,
  definition,
};

let env: TestEnv;
let services: Resource<Service>;
beforeAll(async () => {
  env = await startTestEnv();
  const answer = await env.request('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: definition,
  });
  expect(answer.status).toBe(201);
  // Of all namespaces: an edit finds the object by its metadata.
  services = connect({ url: env.url, credential: env.token }).resource(model);
  await services.list();
});
afterAll(() => env.stop());

const begin = (name: string, spec: Service['spec'] = {}): Promise<Parameters<typeof edit<Service, never>>[1]> =>
  services.create({ metadata: { name, namespace: 'default' }, spec });

describe('an edit', () => {
  test('saves the draft, and goes on from there', async () => {
    const editing = edit(services, await begin('plain', { title: 'plain' }));
    editing.draft.spec!.owner = 'mia';
    expect((await editing.save()).spec).toEqual({ title: 'plain', owner: 'mia' });
    editing.draft.spec!.owner = 'leo';
    expect((await editing.save()).spec?.owner).toBe('leo');
  });

  test('merges what others saved meanwhile, by field and by element', async () => {
    const object = await begin('merged', { title: 'merged', ports: [{ name: 'a', port: 1 }] });
    const mine = edit(services, object);
    const theirs = edit(services, object);
    mine.draft.spec!.owner = 'mia';
    mine.draft.spec!.ports!.push({ name: 'b', port: 2 });
    theirs.draft.spec!.ports![0]!.port = 9;
    theirs.draft.metadata.labels = { seen: 'yes' };
    await theirs.save();
    const saved = await mine.save();
    expect(saved.spec).toEqual({
      title: 'merged',
      owner: 'mia',
      ports: [
        { name: 'a', port: 9 },
        { name: 'b', port: 2 },
      ],
    });
    expect(saved.metadata.labels).toEqual({ seen: 'yes' });
  });

  test('hands out conflicts, and saves what is decided', async () => {
    const object = await begin('conflict', { title: 'conflict', owner: 'nobody' });
    const mine = edit(services, object);
    mine.draft.spec!.owner = 'mia';
    await services.patch(object.metadata, { spec: { owner: 'leo' } });
    const failure = await mine.save().catch((error: unknown) => error);
    expect(isStatusError(failure, 'Conflict') && failure.details?.causes).toEqual([
      { reason: 'FieldConflict', field: 'spec.owner', message: 'somebody else changed it, too' },
    ]);
    expect(mine.conflicts).toEqual([
      expect.objectContaining({ path: 'spec.owner', base: 'nobody', mine: 'mia', theirs: 'leo' }),
    ]);
    expect(mine.draft.spec?.owner).toBe('mia');
    mine.resolve('mine');
    expect((await mine.save()).spec?.owner).toBe('mia');
    mine.draft.spec!.owner = 'eva';
    mine.rebase(await services.patch(object.metadata, { spec: { owner: 'tom' } }));
    mine.resolve('theirs', 'spec.owner');
    expect(mine.draft.spec?.owner).toBe('tom');
    expect((await mine.save()).spec?.owner).toBe('tom');
  });

  test('takes no older object for news', async () => {
    const object = await begin('older', { title: 'older' });
    const editing = edit(services, object);
    editing.draft.spec!.title = 'newer';
    const saved = await editing.save();
    expect(editing.rebase(object)).toEqual([]);
    expect([editing.draft, editing.base, editing.isChanged]).toEqual([saved, saved, false]);
  });

  test('keeps what is changed while it saves', async () => {
    const editing = edit(services, await begin('typed', { title: 'typed' }));
    editing.draft.spec!.title = 'typed 1';
    const saving = editing.save();
    editing.draft.spec!.title = 'typed 12';
    editing.draft.spec!.owner = 'mia';
    expect((await saving).spec).toEqual({ title: 'typed 1' });
    expect([editing.draft.spec, editing.isChanged]).toEqual([{ title: 'typed 12', owner: 'mia' }, true]);
    expect((await editing.save()).spec).toEqual({ title: 'typed 12', owner: 'mia' });
    editing.draft.spec!.owner = 'leo';
    editing.reset();
    expect([editing.draft.spec?.owner, editing.isChanged]).toEqual(['mia', false]);
  });

  test('checks the draft without storing it', async () => {
    const editing = edit(services, await begin('checked'));
    editing.draft.spec!.title = 5 as unknown as string;
    const failure = await editing.save({ dryRun: true }).catch((error: unknown) => error);
    expect(isStatusError(failure, 'Invalid') && failure.details?.causes?.[0]?.field).toBe('spec.title');
    editing.draft.spec!.title = 'checked';
    await editing.save({ dryRun: true });
    expect((await services.get(editing.base.metadata)).spec).toEqual({});
    expect((await editing.save()).spec).toEqual({ title: 'checked' });
  });

  test('does not take a conflict of a unique value, or another object of its name, for a save', async () => {
    await begin('taken', { title: 'taken' });
    const object = await begin('other', { title: 'other' });
    const editing = edit(services, object);
    editing.draft.spec!.title = 'taken';
    expect(isStatusError(await editing.save().catch((error: unknown) => error), 'Conflict')).toBe(true);
    await services.remove(object.metadata);
    await begin('other', { title: 'new' });
    editing.draft.spec!.title = 'mine';
    expect(isStatusError(await editing.save().catch((error: unknown) => error), 'Conflict')).toBe(true);
    expect((await services.get(object.metadata)).spec?.title).toBe('new');
  });
});
