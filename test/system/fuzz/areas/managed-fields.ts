import type { SeededRandom } from '../../harness/seeded-random.ts';
import { json, type WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import { group } from '../fuzz-targets.ts';
import { typed } from './built-in-objects.ts';
import { jsonString, jsonText } from './hostile-json.ts';
import { hostileText, mutateText } from './hostile-text.ts';
import { writeAndRead } from './read-back.ts';

const elements = [
  'f:spec',
  'f:metadata',
  'f:labels',
  'f:set',
  'f:keyed',
  'f:text',
  'f:free',
  'f:status',
  'f:a',
  'f:',
  'f:__proto__',
  'f:é',
  '.',
  'k:{"name":"a"}',
  'k:{"name": "a"}',
  'k:{"port":1,"protocol":"TCP"}',
  'k:{"protocol":"TCP","port":1.0}',
  'k:{}',
  'k:[]',
  'k:{"__proto__":1}',
  'k:',
  'v:"a"',
  'v:"\\u0061"',
  'v:1',
  'v:1.0',
  'v:1e400',
  'v:-0',
  'v:null',
  'v:{"a":[1]}',
  'v:{',
  'v:"\\ud800"',
  'i:0',
  'i:00',
  'i:-1',
  'i:999999999999999999999',
  'i:1.5',
  'x:a',
  'f',
  '',
  ':',
  '__proto__',
  'constructor',
];
const versions = [`${group}/v1`, `${group}/v1`, `${group}/v2`, `${group}/v9`, 'v1', '', '/', 'a/b/c'];
const times = [
  '2026-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '0000-01-01T00:00:00Z',
  '2026-01-01T00:00:00.5+01:00',
  'x',
  '',
];

function element(random: SeededRandom): string {
  const text = random.one(
    () => random.pick(elements),
    () => random.pick(elements.slice(0, 8)),
    () => `f:${random.below(9)}`,
  );
  return random.chance(0.97)
    ? text
    : random.one(
        () => mutateText(random, text),
        () => hostileText(random),
      );
}

/** A set of fields: mostly one that can be read. */
function fieldSet(random: SeededRandom, depth: number): string {
  if (depth <= 0 || random.chance(0.3)) return random.chance(0.97) ? '{}' : jsonText(random, 1);
  const members = random.some(4, () => `${JSON.stringify(element(random))}:${fieldSet(random, depth - 1)}`);
  return `{${members.join(',')}}`;
}

function extremeSet(random: SeededRandom): string {
  const size = random.pick([1000, 10_000, random.chance(0.3) ? 48_000 : 5000]);
  const many = (make: (at: number) => string): string =>
    `{${Array.from({ length: size }, (_, at) => make(at)).join(',')}}`;
  const deep = random.pick([50, 95, 97, 99, 300]);
  return random.one(
    () => `{"f:spec":{"f:map":${many((at) => `"f:k${(at * 7919) % size}":{}`)}}}`,
    () => `{"f:spec":{"f:set":${many((at) => `"v:\\"s${at}\\"":{}`)}}}`,
    () => `{"f:spec":{"f:set":${many((at) => `"v:${at}.0":{}`)}}}`,
    () => `{"f:spec":{"f:keyed":${many((at) => `"k:{\\"name\\": \\"n${at}\\"}":{".":{}}`)}}}`,
    () => many((at) => `"x${at}:":{}`),
    () => '{"f:a":'.repeat(deep) + '{}' + '}'.repeat(deep),
    () => `{"f:${'x'.repeat(random.pick([1000, 300_000]))}":{}}`,
    () => `{"v:\\"${'<'.repeat(random.pick([1000, 100_000]))}\\"":{}}`,
    () => `{"v:${'['.repeat(deep * 10)}${']'.repeat(deep * 10)}":{}}`,
  );
}

function entry(
  random: SeededRandom,
  set: string,
  name = random.pick(['a', 'b', 'kubectl', 'ancient-changes', '']),
): string {
  const wrong = (value: string): string =>
    random.chance(0.98)
      ? value
      : random.one(
          () => jsonText(random, 1),
          () => jsonString(random),
        );
  const members = [
    `"manager":${wrong(JSON.stringify(name))}`,
    `"operation":${wrong(random.pick(['"Apply"', '"Update"']))}`,
    `"apiVersion":${wrong(JSON.stringify(random.chance(0.8) ? `${group}/v1` : random.pick(versions)))}`,
    `"time":${wrong(JSON.stringify(random.pick(times.slice(0, random.chance(0.9) ? 1 : 9))))}`,
    `"fieldsType":${wrong('"FieldsV1"')}`,
    `"fieldsV1":${wrong(set)}`,
    ...(random.chance(0.2) ? [`"subresource":${wrong(random.pick(['""', '"status"', '"scale"', '"x"']))}`] : []),
  ];
  return `{${members.filter(() => random.chance(0.98)).join(',')}}`;
}

/** The value of metadata.managedFields. */
function fields(random: SeededRandom): string {
  if (random.chance(0.15)) return random.pick(['[]', '[{}]', 'null', '[null]', '{}', '[[]]', '[{},{}]', '""']);
  if (random.chance(0.03)) return jsonText(random, 3);
  if (random.chance(0.04)) {
    const count = random.pick([11, 100, random.chance(0.3) ? 4000 : 500]);
    return `[${Array.from({ length: count }, (_, at) => entry(random, `{"f:spec":{"f:map":{"f:${at}":{}}}}`, `m${at}`)).join(',')}]`;
  }
  const set = (): string => (random.chance(0.05) ? extremeSet(random) : fieldSet(random, 4));
  return `[${random.some(4, () => entry(random, set())).join(',')}]`;
}

/** An object, or a part of one, that says who owns its fields. */
function write(random: SeededRandom, collection: string, name: string): WireRequest {
  const head = `"apiVersion":"${group}/v1","kind":"Shape"`;
  const spec = `"spec":{"set":["a","b"],"text":"t","keyed":[{"name":"a","port":1}],"map":{"a":"b"}}`;
  const object = (value: string): string => `{${head},"metadata":{"name":"${name}","managedFields":${value}},${spec}}`;
  const plain = `{${head},"metadata":{"name":"${name}"},"spec":{"text":"${random.pick(['t', 'u'])}","set":["${random.pick(['a', 'c'])}"]}}`;
  const one = `${collection}/${name}`;
  const manager = `?fieldManager=${random.pick(['a', 'b', 'kubectl'])}`;
  const path = random.pick(['/0', '/-', '/1', '', '/0/fieldsV1', '/0/manager', '/0/time', '/0/fieldsV1/f:spec', '/99']);
  const op = random.pick(['add', 'replace', 'remove', 'test']);
  return random.one(
    () => json('POST', collection + manager, object(fields(random))),
    () => json('PUT', one + manager, object(fields(random))),
    () => json('PUT', `${one}/status${manager}`, object(fields(random))),
    () => json('PUT', one + manager, plain),
    () => typed(json('PATCH', one + manager, object(fields(random))), 'application/merge-patch+json'),
    () =>
      typed(
        json(
          'PATCH',
          one + manager,
          `[{"op":"${op}","path":"/metadata/managedFields${path}","value":${path === '' ? fields(random) : jsonText(random, 2)}}]`,
        ),
        'application/json-patch+json',
      ),
    () => typed(json('PATCH', `${one}${manager}&force=${random.chance(0.5)}`, plain), 'application/apply-patch+yaml'),
    () => typed(json('PATCH', `${one}${manager}`, object(fields(random))), 'application/apply-patch+yaml'),
  );
}

/** metadata.managedFields as clients send it: malformed, huge, deep, many entries, and resets; then other writes. */
export const managedFields: AttackArea = {
  name: 'managed fields',
  weight: 5,
  generate(random, { shapes }) {
    const name = `m${caseName(random)}`;
    const first = json('POST', shapes, {
      apiVersion: `${group}/v1`,
      kind: 'Shape',
      metadata: { name },
      spec: { set: ['a'], keyed: [{ name: 'a' }], map: { a: 'b' } },
    });
    const others = Array.from({ length: random.between(1, 4) }, () => write(random, shapes, name));
    const writes = [...(random.chance(0.5) ? [first] : []), ...others];
    return { changes: 'maybe', ...writeAndRead(random, { collection: shapes, name, writes }) };
  },
};
