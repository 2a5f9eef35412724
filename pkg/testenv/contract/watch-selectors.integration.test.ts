import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, mergePatch, type ApiResponse } from './api-call.ts';
import { createOrThrow, register, type Registered } from './models-definition.ts';
import { eventRevision, RecordedWatch } from './recorded-watch.ts';

let env: TestEnv;
let posts: Registered;
let notes: Registered;

beforeAll(async () => {
  env = await startTestEnv();
  const indexes = [
    { name: 'spec.color', path: 'spec.color', type: 'string' },
    { name: 'spec.size', path: 'spec.size', type: 'integer' },
    { name: 'spec.tags', path: 'spec.tags[*]', type: 'string', multi: true },
  ];
  const spec = {
    type: 'object',
    properties: {
      color: { type: 'string' },
      size: { type: 'integer' },
      tags: { type: 'array', items: { type: 'string' } },
      n: { type: 'integer' },
    },
  };
  [posts, notes] = await Promise.all([
    register(env, { spec, definitionVersion: { indexes } }),
    register(env, { kind: 'Note', scope: 'Namespaced' }),
  ]);
  await retryUntilPasses(async () =>
    expect((await call(env, `${posts.path}?fieldSelector=spec.color%3Dred`)).status).toBe(200),
  );
  for (const name of ['one', 'two'])
    await createOrThrow(env, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
});

afterAll(() => env?.stop());

const patch = (path: string, body: unknown): Promise<ApiResponse> =>
  call(env, path, { method: 'PATCH', headers: mergePatch, body });
const revision = async (path: string): Promise<string> => (await call(env, path)).body.metadata.resourceVersion;

const places = (stream: RecordedWatch): string[] =>
  stream.changes.map(({ type, object }) => `${type} ${object.metadata.namespace}`);

interface Transition {
  selector: string;
  outside: Record<string, unknown>;
  inside: Record<string, unknown>;
}

const transitions: [string, Transition][] = [
  [
    'label =',
    {
      selector: 'labelSelector=app%3Dweb',
      outside: { metadata: { labels: { app: 'db' } } },
      inside: { metadata: { labels: { app: 'web' } } },
    },
  ],
  [
    'label !=',
    {
      selector: 'labelSelector=app!%3Dweb',
      outside: { metadata: { labels: { app: 'web' } } },
      inside: { metadata: { labels: { app: null } } },
    },
  ],
  [
    'label in',
    {
      selector: 'labelSelector=app%20in%20(web,api)',
      outside: { metadata: { labels: { app: 'db' } } },
      inside: { metadata: { labels: { app: 'api' } } },
    },
  ],
  [
    'label set of the seed',
    {
      selector: 'labelSelector=app%3D(web,api)',
      outside: { metadata: { labels: { app: 'db' } } },
      inside: { metadata: { labels: { app: 'api' } } },
    },
  ],
  [
    'label absent',
    {
      selector: 'labelSelector=!app',
      outside: { metadata: { labels: { app: 'x' } } },
      inside: { metadata: { labels: { app: null } } },
    },
  ],
  [
    'field =',
    {
      selector: 'fieldSelector=spec.color%3Dred',
      outside: { spec: { color: 'blue' } },
      inside: { spec: { color: 'red' } },
    },
  ],
  [
    'field set',
    {
      selector: 'fieldSelector=spec.color%3D(red,green)',
      outside: { spec: { color: 'blue' } },
      inside: { spec: { color: 'green' } },
    },
  ],
  [
    'field !=',
    {
      selector: 'fieldSelector=spec.color!%3Dred',
      outside: { spec: { color: 'red' } },
      inside: { spec: { color: null } },
    },
  ],
  [
    'field >',
    { selector: 'fieldSelector=spec.size%3E9', outside: { spec: { size: 9 } }, inside: { spec: { size: 10 } } },
  ],
  [
    'field null',
    { selector: 'fieldSelector=!spec.size', outside: { spec: { size: 1 } }, inside: { spec: { size: null } } },
  ],
  [
    'multi contains',
    {
      selector: 'fieldSelector=spec.tags%3Da',
      outside: { spec: { tags: ['b'] } },
      inside: { spec: { tags: ['b', 'a'] } },
    },
  ],
  [
    'both kinds',
    {
      selector: 'labelSelector=app%3Dweb&fieldSelector=spec.color%3Dred',
      outside: { metadata: { labels: { app: 'web' } }, spec: { color: 'blue' } },
      inside: { spec: { color: 'red' } },
    },
  ],
];

describe('an object that starts or stops to match a selector', () => {
  test.each(transitions)(
    '%s: is ADDED when it matches, and DELETED with its old state at the new revision when it does not',
    async (_case, { selector, outside, inside }) => {
      const name = `crossing-${transitions.findIndex(([other]) => other === _case)}`;
      const path = `${posts.path}/${name}`;
      await createOrThrow(env, posts.path, posts.object(name, {}));
      await patch(path, outside);
      const stream = await RecordedWatch.open(
        env,
        `${posts.path}?${selector}&resourceVersion=${await revision(posts.path)}`,
      );
      const seenByAll = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${await revision(posts.path)}`);
      const entered = await patch(path, inside);
      const touched = await patch(path, { spec: { n: 1 } });
      const left = await patch(path, outside);
      await patch(path, { spec: { n: 2 } });
      const back = await patch(path, inside);
      await call(env, path, { method: 'DELETE' });
      await stream.untilCount(5);
      await seenByAll.untilCount(6);
      expect(stream.changes.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'ADDED', 'DELETED']);
      const [added, modified, gone, again, deleted] = stream.changes;
      expect(added!.object).toEqual(entered.body);
      expect(modified!.object).toEqual(touched.body);
      expect(gone!.object).toEqual({
        ...touched.body,
        metadata: { ...touched.body.metadata, resourceVersion: left.body.metadata.resourceVersion },
      });
      expect(again!.object).toEqual(back.body);
      expect(eventRevision(deleted!)).toBe(eventRevision(seenByAll.changes.at(-1)!));
      stream.close();
      seenByAll.close();
    },
  );

  test('has no events if it never matched', async () => {
    const stream = await RecordedWatch.open(
      env,
      `${posts.path}?labelSelector=app%3Dmine&resourceVersion=${await revision(posts.path)}`,
    );
    await createOrThrow(env, posts.path, posts.object('other'));
    await patch(`${posts.path}/other`, { spec: { n: 3 } });
    await call(env, `${posts.path}/other`, { method: 'DELETE' });
    await createOrThrow(env, posts.path, {
      ...posts.object('mine'),
      metadata: { name: 'mine', labels: { app: 'mine' } },
    });
    await stream.untilCount(1);
    expect(stream.story).toEqual(['ADDED mine']);
    stream.close();
  });

  test('metadata.name selects one object, with its short name too', async () => {
    await createOrThrow(env, posts.path, posts.object('alone'));
    for (const selector of ['metadata.name%3Dalone', 'name%3Dalone']) {
      const stream = await RecordedWatch.open(env, `${posts.path}?fieldSelector=${selector}&resourceVersion=0`);
      await stream.untilCount(1);
      expect(stream.story).toEqual(['ADDED alone']);
      stream.close();
    }
  });
});

test.each([
  ['labelSelector=a%3D%3D%3Db', 'malformed'],
  ['labelSelector=a,,b', 'a stray comma'],
  ['fieldSelector=spec.unknown%3D1', 'a field without an index'],
  ['fieldSelector=spec.size%3Dtwelve', 'a value of another type'],
  ['fieldSelector=spec.color', 'fine'],
])('%s on a watch: %s', async (query, reason) => {
  const answer = await call(env, `${posts.path}?watch=true&timeoutSeconds=1&${query}`);
  expect(answer.status).toBe(reason === 'fine' ? 200 : 400);
});

describe('namespaces', () => {
  test('a watch in one namespace has its objects, a watch across namespaces has all', async () => {
    const start = await revision(notes.path);
    const one = await RecordedWatch.open(env, `${notes.inNamespace('one')}?resourceVersion=${start}`);
    const all = await RecordedWatch.open(env, `${notes.path}?resourceVersion=${start}`);
    const field = await RecordedWatch.open(
      env,
      `${notes.path}?resourceVersion=${start}&fieldSelector=metadata.namespace%3Dtwo`,
    );
    await createOrThrow(env, notes.inNamespace('one'), notes.object('n'));
    await createOrThrow(env, notes.inNamespace('two'), notes.object('n'));
    await call(env, `${notes.inNamespace('one')}/n`, { method: 'DELETE' });
    await call(env, `${notes.inNamespace('two')}/n`, { method: 'DELETE' });
    await all.untilCount(4);
    await Promise.all([one.untilCount(2), field.untilCount(2)]);
    expect(places(all)).toEqual(['ADDED one', 'ADDED two', 'DELETED one', 'DELETED two']);
    expect(places(one)).toEqual(['ADDED one', 'DELETED one']);
    expect(places(field)).toEqual(['ADDED two', 'DELETED two']);
    for (const stream of [one, all, field]) stream.close();
  });

  test('a missing namespace is 404', async () => {
    const answer = await call(env, `${notes.inNamespace('nowhere')}?watch=true&timeoutSeconds=1`);
    expect(answer.status).toBe(404);
  });

  test('namespaces themselves can be watched', async () => {
    const stream = await RecordedWatch.open(env, '/api/v1/namespaces');
    await stream.until(({ story }) => story.includes('ADDED default') && story.includes('ADDED one'));
    stream.close();
  });
});
