import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, mergePatch } from './api-call.ts';
import {
  conditionsOf,
  createOrThrow,
  newDefinition,
  definitionsPath,
  newGroup,
  onEveryServer,
  register,
} from './models-definition.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
});

afterAll(() => env?.stop());

async function untilAccepted(name: string, status: 'True' | 'False'): Promise<void> {
  await retryUntilPasses(async () => expect((await conditionsOf(env, name))['NamesAccepted']?.status).toBe(status));
}

describe('plurals that look like a path segment', () => {
  const plurals = ['namespaces', 'status', 'scale', 'watch', 'finalize', 'apis', 'v1'];
  test.each(
    plurals.flatMap(
      (plural) =>
        [
          [plural, 'Cluster'],
          [plural, 'Namespaced'],
        ] as const,
    ),
  )('%s, %s: refused, or served on every verb', async (plural, scope) => {
    const wanted = newDefinition({ kind: 'Odd', plural, scope });
    const posted = await call(env, definitionsPath, { method: 'POST', body: wanted });
    if (posted.status === 422) return;
    expect(posted.status).toBe(201);
    const apiVersion = `${wanted.spec.group}/v1`;
    const path = `/apis/${apiVersion}/${scope === 'Cluster' ? '' : 'namespaces/default/'}${plural}`;
    await onEveryServer(env, path, 200);
    await createOrThrow(env, path, { apiVersion, kind: 'Odd', metadata: { name: 'status' } });
    const read = await call(env, `${path}/status`);
    const patched = await call(env, `${path}/status`, {
      method: 'PATCH',
      headers: mergePatch,
      body: { spec: { a: 1 } },
    });
    const deleted = await call(env, `${path}/status`, { method: 'DELETE' });
    expect([read.status, patched.status, deleted.status]).toEqual([200, 200, 200]);
  });
});

describe('names that conflict', () => {
  test.each([
    ['the same kind', { kind: 'Post', plural: 'postings' }],
    ['the same kind from another list kind', { kind: 'Entry', plural: 'entries', names: { listKind: 'Post' } }],
    [
      'a short name that is the plural of another',
      { kind: 'Thing', plural: 'things', names: { shortNames: ['posts'] } },
    ],
    ['a singular that is that of another', { kind: 'Other', plural: 'others', names: { singular: 'post' } }],
  ])(
    '%s: stored, not served, NamesAccepted=False naming the first; served when the first goes',
    async (_case, second) => {
      const first = await register(env);
      const { name } = first.definition.metadata;
      const clashing = newDefinition({ ...second, group: first.group });
      const posted = await call(env, definitionsPath, { method: 'POST', body: clashing });
      expect(posted.status).toBe(201);
      await untilAccepted(clashing.metadata.name, 'False');
      const { NamesAccepted, Established } = await conditionsOf(env, clashing.metadata.name);
      expect(`${NamesAccepted!.reason} ${NamesAccepted!.message}`).toMatch(/post/i);
      expect(NamesAccepted!.message).toContain(name);
      expect(Established!.status).toBe('False');
      const path = `/apis/${first.group}/v1/${second.plural}`;
      await onEveryServer(env, path, 404);
      await onEveryServer(env, first.path, 200);
      await createOrThrow(env, first.path, first.object('still'));
      await call(env, `${definitionsPath}/${name}`, { method: 'DELETE' });
      await onEveryServer(env, path, 200);
      await untilAccepted(clashing.metadata.name, 'True');
    },
  );

  test('of two concurrent definitions exactly one is served', async () => {
    const group = newGroup();
    const both = ['firsts', 'seconds'].map((plural) =>
      newDefinition({ group, plural, kind: 'Same', names: { singular: plural } }),
    );
    await Promise.all(both.map((body, server) => call(env, definitionsPath, { method: 'POST', body, server })));
    await retryUntilPasses(async () => {
      const accepted = await Promise.all(
        both.map(async ({ metadata }) => (await conditionsOf(env, metadata.name))['NamesAccepted']?.status),
      );
      expect(accepted.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual(['False', 'True']);
    });
    await retryUntilPasses(async () => {
      const answers = await Promise.all(
        [0, 1].flatMap((server) =>
          both.map(({ spec }) => call(env, `/apis/${group}/v1/${String(spec.names['plural'])}`, { server })),
        ),
      );
      const codes = answers.map(({ status }) => status);
      expect(codes.slice(0, 2).toSorted((a, b) => a - b)).toEqual([200, 404]);
      expect(codes.slice(2)).toEqual(codes.slice(0, 2));
    });
  });

  test('the same kind in another group is no conflict', async () => {
    const [one, two] = await Promise.all([register(env), register(env)]);
    await Promise.all([one, two].map((model) => createOrThrow(env, model.path, model.object('a'))));
  });
});
