import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, type ApiResponse } from './api-call.ts';
import {
  anySpec,
  changeDefinition,
  createOrThrow,
  newDefinition,
  definitionsPath,
  schemaWithSpec,
  onEveryServer,
  register,
  version,
  type Registered,
} from './models-definition.ts';
import { RecordedWatch } from './recorded-watch.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
});

afterAll(() => env?.stop());

/** Creates objects on both servers until stopped, and returns every status code. */
function writers(model: Registered, count: number, signal: AbortSignal): Promise<ApiResponse[]> {
  const write = async (_: unknown, writer: number): Promise<ApiResponse[]> => {
    const answers: ApiResponse[] = [];
    for (let i = 0; !signal.aborted; i += 1)
      answers.push(
        await call(env, model.path, {
          server: writer % 2,
          method: 'POST',
          body: model.object(`w${writer}-${i}`, { i }),
        }),
      );
    return answers;
  };
  return Promise.all(Array.from({ length: count }, write)).then((lists) => lists.flat());
}

const codesOf = (answers: ApiResponse[]): number[] =>
  [...new Set(answers.map(({ status }) => status))].toSorted((a, b) => a - b);
const gone = (name: string): Promise<void> =>
  retryUntilPasses(async () => expect((await call(env, `${definitionsPath}/${name}`)).status).toBe(404));

test('five hundred objects are deleted with their definition, and watchers on both servers see each deletion', async () => {
  const model = await register(env);
  for (let i = 0; i < 500; i += 50)
    await Promise.all(Array.from({ length: 50 }, (_, j) => createOrThrow(env, model.path, model.object(`o${i + j}`))));
  const streams = await Promise.all([0, 1].map((server) => RecordedWatch.open(env, model.path, { server })));
  await Promise.all(streams.map((stream) => stream.untilCount(500)));
  await call(env, `${definitionsPath}/${model.definition.metadata.name}`, { method: 'DELETE' });
  await Promise.all(streams.map((stream) => stream.untilEnd()));
  for (const { story, failure } of streams) {
    expect(failure).toBeUndefined();
    expect(new Set(story.slice(500))).toEqual(new Set(Array.from({ length: 500 }, (_, i) => `DELETED o${i}`)));
    expect(story).toHaveLength(1000);
  }
  await gone(model.definition.metadata.name);
});

test('while a definition is deleted, writes on both servers are refused with a message, and nothing remains for the next definition', async () => {
  for (let round = 0; round < 4; round += 1) {
    const model = await register(env);
    const { name } = model.definition.metadata;
    const stop = new AbortController();
    const writing = writers(model, 8, stop.signal);
    await retryUntilPasses(async () => expect((await call(env, model.path)).body.items.length).toBeGreaterThan(10));
    expect((await call(env, `${definitionsPath}/${name}`, { method: 'DELETE' })).status).toBe(200);
    await gone(name);
    await onEveryServer(env, model.path, 404);
    stop.abort();
    expect(codesOf(await writing).filter((code) => ![201, 403, 404].includes(code))).toEqual([]);
    await register(env, model.definition);
    expect((await call(env, model.path)).body.items).toEqual([]);
    expect((await call(env, model.path, { server: 1 })).body.items).toEqual([]);
  }
});

test('while a definition changes, every write on both servers is validated, and none fails', async () => {
  const model = await register(env);
  const stop = new AbortController();
  const writing = writers(model, 6, stop.signal);
  for (let i = 0; i < 8; i += 1) {
    const answer = await changeDefinition(env, model.definition.metadata.name, ({ spec }) => {
      spec.versions = [
        version(
          'v1',
          schemaWithSpec({
            ...anySpec,
            properties: { i: { type: 'integer' }, [`extra${i}`]: { type: 'string', default: 'x' } },
          }),
          i % 2 ? {} : { indexes: [{ name: 'i', path: 'spec.i', type: 'integer' }] },
        ),
      ];
    });
    expect(answer.status).toBe(200);
  }
  stop.abort();
  const answers = await writing;
  expect(codesOf(answers)).toEqual([201]);
  const [left, right] = await Promise.all([0, 1].map((server) => call(env, model.path, { server })));
  expect([left!.body.items.length, right!.body.items.length]).toEqual([answers.length, answers.length]);
});

test('concurrent updates of a definition on both servers give the same result on both', async () => {
  const model = await register(env);
  const { name } = model.definition.metadata;
  await Promise.all(
    Array.from({ length: 10 }, (_, i) => {
      const body = newDefinition({
        group: model.group,
        spec: { type: 'object', properties: { who: { type: 'string', default: `put-${i}` } } },
      });
      return call(env, `${definitionsPath}/${name}`, { method: 'PUT', server: i % 2, body });
    }),
  );
  const { body } = await call(env, `${definitionsPath}/${name}`);
  const winner = /put-\d/.exec(JSON.stringify(body.spec))![0];
  await Promise.all(
    [0, 1].map((server) =>
      retryUntilPasses(async () => {
        const probe = await call(env, `${model.path}?dryRun=All`, {
          method: 'POST',
          server,
          body: model.object('probe'),
        });
        expect(probe.body.spec).toEqual({ who: winner });
      }),
    ),
  );
});

test('of twenty concurrent creates of one definition one is 201, the others 409', async () => {
  const body = newDefinition();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => call(env, definitionsPath, { method: 'POST', server: i % 2, body })),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    201,
    ...Array.from({ length: 19 }, () => 409),
  ]);
  await onEveryServer(env, `/apis/${body.spec.group}/v1/posts`, 200);
});
