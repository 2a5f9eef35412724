import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call } from './api-call.ts';
import {
  createOrThrow,
  newDefinition,
  definitionsPath,
  newGroup,
  register,
  statusAndScale,
  type Definition,
} from './models-definition.ts';
import { anySchema, anyValue, broken, valueOf } from './models-random-schema.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv();
});

afterAll(() => env?.stop());

test('any object under any schema is accepted or refused with a message; a stored object is valid and unchanged', async () => {
  let stored = 0;
  let refused = 0;
  const examine = async (schema: Record<string, unknown>, values: Record<string, unknown>[]): Promise<void> => {
    const model = await register(env, { spec: schema });
    for (const [i, spec] of values.entries()) {
      const answer = await call(env, model.path, { method: 'POST', body: model.object(`o${i}`, spec) });
      expect([[201, 400, 422], answer.status, answer.text]).toEqual([
        expect.arrayContaining([answer.status]),
        answer.status,
        answer.text,
      ]);
      if (answer.status !== 201) {
        if (answer.status === 422) expect(answer.body.details.causes!.length).toBeGreaterThan(0);
        refused += 1;
        continue;
      }
      stored += 1;
      const read = await call(env, `${model.path}/o${i}`);
      expect([broken(schema, read.body.spec), read.body]).toEqual([[], answer.body]);
      const again = await call(env, `${model.path}/o${i}`, { method: 'PUT', body: read.body });
      expect([again.status, again.body]).toEqual([200, read.body]);
    }
    await call(env, `${definitionsPath}/${model.definition.metadata.name}`, { method: 'DELETE' });
  };
  await fc.assert(fc.asyncProperty(anySchema, fc.array(anyValue, { minLength: 4, maxLength: 8 }), examine), {
    numRuns: 40,
    endOnFailure: true,
  });
  expect(Math.min(stored, refused)).toBeGreaterThan(10);
});

test('a valid object is accepted, and nothing of it is lost', async () => {
  const schemaAndValues = anySchema.chain((schema) =>
    fc.tuple(fc.constant(schema), fc.array(valueOf(schema), { minLength: 3, maxLength: 6 })),
  );
  const examine = async ([schema, values]: [Record<string, unknown>, unknown[]]): Promise<void> => {
    expect(values.flatMap((value) => broken(schema, value))).toEqual([]);
    const model = await register(env, { spec: schema });
    for (const [i, spec] of values.entries()) {
      const answer = await call(env, model.path, {
        method: 'POST',
        body: model.object(`o${i}`, spec as Record<string, unknown>),
      });
      expect([answer.status, answer.body.message]).toEqual([201, undefined]);
      expect(answer.body.spec).toMatchObject(JSON.parse(JSON.stringify(spec)) as Record<string, unknown>);
    }
    await call(env, `${definitionsPath}/${model.definition.metadata.name}`, { method: 'DELETE' });
  };
  await fc.assert(fc.asyncProperty(schemaAndValues, examine), { numRuns: 40, endOnFailure: true });
});

const valid = (): Definition =>
  newDefinition({
    group: newGroup(),
    spec: {
      type: 'object',
      properties: {
        title: { type: 'string', default: 'x', maxLength: 5 },
        list: { type: 'array', items: { type: 'integer' } },
      },
    },
    definitionVersion: {
      ...statusAndScale,
      indexes: [{ name: 'title', path: 'spec.title', type: 'string' }],
      additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.title' }],
    },
    names: { shortNames: ['po'], categories: ['all'], listKind: 'PostList' },
  });

/** The JSON path of every value inside. */
function places(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [
    ...(path.length === 0 ? [] : [path]),
    ...Object.entries(value).flatMap(([name, inner]) => places(inner, [...path, name])),
  ];
}

function replaced(value: unknown, [head, ...rest]: string[], put: unknown): unknown {
  if (head === undefined) return put;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as Record<string, unknown>) }) as Record<
    string,
    unknown
  >;
  copy[head] = replaced(copy[head], rest, put);
  return copy;
}

const paths = places(valid()).filter(
  ([head, second]) => !(head === 'metadata' && second === 'name') && !(head === 'spec' && second === 'group'),
);
const anything = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    'x',
    'X',
    0,
    -1,
    1.5,
    1e300,
    true,
    [],
    {},
    [null],
    { '': {} },
    '__proto__',
    'a'.repeat(300),
    '.spec..',
    '(',
    '\u0000',
    '\ud800',
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

test('any definition near a valid one is accepted or refused with a message, and the server continues', async () => {
  const codes = new Map<number, number>();
  const examine = async (changes: [string[], unknown][]): Promise<void> => {
    const original = valid();
    const body = changes.reduce<unknown>((changed, [path, put]) => {
      try {
        return replaced(changed, path, put);
      } catch {
        return changed;
      }
    }, original);
    const answer = await call(env, definitionsPath, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    expect([answer.status < 500, answer.text]).toEqual([true, answer.text]);
    codes.set(answer.status, (codes.get(answer.status) ?? 0) + 1);
    if (answer.status !== 201) return;
    const { name } = original.metadata;
    const [list, read] = await Promise.all([
      call(env, `/apis/${original.spec.group}/v1/posts`),
      call(env, `${definitionsPath}/${name}`),
    ]);
    expect([200, 404, 503]).toContain(list.status);
    expect(read.status).toBe(200);
    const again = await call(env, `${definitionsPath}/${name}`, { method: 'PUT', body: read.body });
    expect([again.status, again.text]).toEqual([200, again.text]);
    expect((await call(env, `${definitionsPath}/${name}`, { method: 'DELETE' })).status).toBe(200);
  };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom(...paths), anything), { minLength: 1, maxLength: 3 }), examine),
    { numRuns: 250, endOnFailure: true },
  );
  expect([...codes.keys()].filter((code) => ![201, 400, 422].includes(code))).toEqual([]);
  const model = await register(env);
  await createOrThrow(env, model.path, model.object('alive'));
});
