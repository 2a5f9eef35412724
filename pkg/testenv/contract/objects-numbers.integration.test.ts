import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, jsonPatch, mergePatch, yamlBody, type ApiResponse } from './api-call.ts';
import { register, type Registered, type Schema } from './models-definition.ts';

let env: TestEnv;
let model: Registered;
let sequence = 0;
const json = { 'content-type': 'application/json' };

const properties: Record<string, Schema> = {
  number: { type: 'number' },
  integer: { type: 'integer' },
  either: { 'x-kubernetes-int-or-string': true },
  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
};

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  const indexes = [{ name: 'number', path: 'spec.number', type: 'number' }];
  model = await register(env, { spec: { type: 'object', properties }, definitionVersion: { indexes } });
});

afterAll(() => env?.stop());

const newName = (): string => `n${(sequence += 1)}`;
const textOf = (name: string, spec: string): string =>
  `{"apiVersion":"${model.apiVersion}","kind":"Post","metadata":{"name":"${name}"},"spec":${spec}}`;
const post = (name: string, spec: string): Promise<ApiResponse> =>
  call(env, model.path, { method: 'POST', headers: json, body: textOf(name, spec) });
const numberIn = ({ text }: ApiResponse): string | undefined => /"number":([^,}]+)/.exec(text)?.[1];

/** The number's text, which must be the same on every replica, in lists, and after it is written back. */
async function readBack(name: string): Promise<string> {
  const read = await call(env, `${model.path}/${name}`, { server: 1 });
  const listed = await call(env, `${model.path}?fieldSelector=metadata.name%3D${name}`);
  expect(numberIn(listed)).toBe(numberIn(read));
  const again = await call(env, `${model.path}/${name}`, { method: 'PUT', headers: json, body: read.text });
  expect([again.status, again.text]).toEqual([200, read.text]);
  return numberIn(read)!;
}

describe('a field of type number', () => {
  test.each([
    ['1e+21', '1e+21'],
    ['1E21', '1e+21'],
    ['-1e21', '-1e+21'],
    ['1e20', '1e+20'],
    ['9007199254740992.0', '9.007199254740992e+15'],
    ['9223372036854775808.0', '9.223372036854776e+18'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['5e-324', '5e-324'],
    ['1e-400', '0'],
    ['1.0', '1'],
    ['-0', '0'],
    ['-0.0', '0'],
    ['0.1000000000000000055511151231257827', '0.1'],
    ['9007199254740991', '9007199254740991'],
  ])('keeps %s, and returns %s', async (written, expected) => {
    const name = newName();
    const { status } = await post(name, `{"number":${written},"free":{"a":[${written}]}}`);
    expect([status, await readBack(name)]).toEqual([201, expected]);
  });

  test.each([
    '9007199254740992',
    '-9007199254740992',
    '100000000000000000000',
    '9007199254740993.0',
    '9007199254740993e0',
    '1e400',
    '-1e400',
  ])('%s cannot be kept, in any field', async (written) => {
    for (const field of ['number', 'integer', 'either', 'free']) {
      const answer = await post(newName(), field === 'free' ? `{"free":{"a":${written}}}` : `{"${field}":${written}}`);
      expect([field, answer.status, answer.body.details.causes![0]!.field]).toEqual([
        field,
        422,
        field === 'free' ? 'spec.free.a' : `spec.${field}`,
      ]);
    }
  });
});

test.each(['integer', 'either'])(
  'a field of type %s accepts 1.0 and 1e3, and no float beyond 2^53-1',
  async (field) => {
    expect((await post(newName(), `{"${field}":1.0}`)).body.spec).toEqual({ [field]: 1 });
    expect((await post(newName(), `{"${field}":1e3}`)).body.spec).toEqual({ [field]: 1000 });
    for (const written of ['1e21', '9007199254740992.0', '1.5']) {
      const { status, body } = await post(newName(), `{"${field}":${written}}`);
      const type = field === 'integer' ? 'integer' : 'integer,string';
      expect([status, body.details.causes]).toEqual([
        422,
        [
          expect.objectContaining({
            field: `spec.${field}`,
            message: expect.stringContaining(`must be of type ${type}: "number"`),
          }),
        ],
      ]);
    }
  },
);

test('is kept by patches, YAML and clients in the process too', async () => {
  const name = newName();
  expect((await post(name, '{"number":1}')).status).toBe(201);
  const path = `${model.path}/${name}`;
  const merged = await call(env, path, { method: 'PATCH', headers: mergePatch, body: '{"spec":{"number":1e20}}' });
  expect([merged.status, numberIn(merged)]).toEqual([200, '1e+20']);
  const labelled = await call(env, path, {
    method: 'PATCH',
    headers: mergePatch,
    body: '{"metadata":{"labels":{"a":"b"}}}',
  });
  expect(numberIn(labelled)).toBe('1e+20');
  const tested = await call(env, path, {
    method: 'PATCH',
    headers: jsonPatch,
    body: '[{"op":"test","path":"/spec/number","value":100e18},{"op":"replace","path":"/spec/number","value":1.5e20}]',
  });
  expect([tested.status, numberIn(tested)]).toEqual([200, '1.5e+20']);
  expect(
    (await call(env, path, { method: 'PATCH', headers: mergePatch, body: '{"spec":{"number":100000000000000000000}}' }))
      .status,
  ).toBe(422);

  const yaml = await call(env, path, { headers: { accept: 'application/yaml' } });
  expect(yaml.text).toContain('number: 1.5e+20\n');
  expect((await call(env, path, { method: 'PUT', headers: yamlBody, body: yaml.text })).status).toBe(200);
  for (const [written, status] of [
    ['1e21', 201],
    ['1.e+21', 201],
    ['+1E21', 201],
    ['0x20000000000000', 422],
    ['.inf', 422],
    ['.nan', 422],
  ] as const) {
    const made = await call(env, model.path, {
      method: 'POST',
      headers: yamlBody,
      body: `apiVersion: ${model.apiVersion}\nkind: Post\nmetadata: {name: ${newName()}}\nspec: {number: ${written}}\n`,
    });
    expect([written, made.status]).toEqual([written, status]);
  }

  const { client } = env.servers[0]!;
  const type = {
    group: model.group,
    version: 'v1',
    plural: 'posts',
    kind: 'Post',
    namespaced: false,
    hasStatusSubresource: false,
  };
  const object = await client.get<{
    apiVersion: string;
    kind: string;
    metadata: { name: string };
    spec: { number: number };
  }>(type, { namespace: '', name });
  const updated = await client.update(type, { ...object, spec: { number: object.spec.number * 2 } });
  expect(updated.spec.number).toBe(3e20);
  expect(await readBack(name)).toBe('3e+20');
});

test('is found by its value, in order', async () => {
  const names = Object.fromEntries(
    ['1e300', '2e20', '9007199254740991', '-1e21'].map((written) => [written, newName()]),
  );
  for (const [written, name] of Object.entries(names)) await post(name, `{"number":${written},"free":{"sorted":true}}`);
  const found = async (query: string): Promise<string[]> =>
    (await call(env, `${model.path}?${query}`)).body.items.map(({ metadata }) => metadata.name);
  expect(await found('fieldSelector=number%3D1e%2B300')).toEqual([names['1e300']]);
  expect(await found('fieldSelector=number%3D2e20')).toEqual([names['2e20']]);
  expect(await found('fieldSelector=number%3D2.0e20')).toEqual([names['2e20']]);
  const ordered = await found('sort=number');
  const positions = ['-1e21', '9007199254740991', '2e20', '1e300'].map((written) => ordered.indexOf(names[written]!));
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  for (const written of ['9007199254740993', '200000000000000000000', '1e400']) {
    expect((await call(env, `${model.path}?fieldSelector=number%3D${written}`)).status).toBe(400);
  }
});

test('keeps any JSON number as its double or refuses it, and accepts what it returns', async () => {
  const whole = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String);
  const digits = fc.stringMatching(/^[0-9]{1,20}$/);
  const literal = fc
    .tuple(
      fc.oneof(whole, fc.double({ noNaN: true, noDefaultInfinity: true }).map(String)),
      fc.option(digits, { nil: '' }),
      fc.option(fc.integer({ min: -330, max: 330 }), { nil: undefined }),
    )
    .map(([start, fraction, exponent]) =>
      /[.e]/.test(start)
        ? start
        : `${start}${fraction === '' ? '' : `.${fraction}`}${exponent === undefined ? '' : `e${exponent}`}`,
    );
  const isFloat = (text: string): boolean => /[.eE]/.test(text);
  await fc.assert(
    fc.asyncProperty(literal, async (written) => {
      const value = Number(written);
      const name = newName();
      const { status } = await post(name, `{"number":${written},"free":{"a":${written}}}`);
      const isSafe = Math.abs(value) <= Number.MAX_SAFE_INTEGER;
      if (isSafe || (isFloat(written) && Number.isFinite(value) && Math.abs(value) > 2 ** 63))
        expect([written, status]).toEqual([written, 201]);
      else if (!isFloat(written) || !Number.isFinite(value)) expect([written, status]).toEqual([written, 422]);
      if (status !== 201) return;
      const read = await readBack(name);
      expect(Number(read)).toBe(value + 0);
      expect(Number.isSafeInteger(Number(read)) || isFloat(read)).toBe(true);
    }),
    { numRuns: 60 },
  );
});
