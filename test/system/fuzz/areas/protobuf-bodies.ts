import type { JsonObject } from '#pkg/apimachinery/index';
import { protobufFieldsOf } from '../../../../pkg/apiserver/protobuf/kind-fields.ts';
import { encodeProtobuf } from '../../../../pkg/apiserver/protobuf/protobuftest/encode-protobuf.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { json, type WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import { type BuiltInKind, builtInObject, createBuiltIn, moreKinds, pickKind, typed } from './built-in-objects.ts';
import { mutateBytes } from './hostile-text.ts';
import { writeAndRead } from './read-back.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const magic = Buffer.from('k8s\0');

function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  for (let left = BigInt(value); ; left >>= 7n) {
    bytes.push(Number(left & 0x7fn) | (left > 0x7fn ? 0x80 : 0));
    if (left <= 0x7fn) return Buffer.from(bytes);
  }
}

/** A field with a length, which may lie. */
function field(number: number, bytes: Buffer, length: number | bigint = bytes.length): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(length), bytes]);
}

function repeated(bytes: Buffer, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => bytes));
}

/** Any field of any type, nested up to `depth`. */
function anyField(random: SeededRandom, depth: number): Buffer {
  const number = random.pick([0, 1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 14, 17, 100, 2 ** 29 - 1, 2 ** 29]);
  return random.one(
    () =>
      Buffer.concat([
        varint(number * 8),
        varint(random.pick([0, 1, 127, 128, 2 ** 31, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n])),
      ]),
    () => Buffer.concat([varint(number * 8), Buffer.alloc(random.pick([1, 9, 10, 11, 1000]), 0xff), Buffer.from([1])]),
    () => Buffer.concat([varint(number * 8 + random.pick([1, 3, 4, 5, 6, 7])), random.bytes(random.below(10))]),
    () => field(number, Buffer.from(random.pick(['', 'a', '__proto__', '\u0000', 'Zw==', 'x'.repeat(1000)]))),
    () => field(number, random.bytes(random.below(20))),
    () => field(number, random.bytes(3), random.pick([0, 1, 4, 1000, 2 ** 31, 2n ** 63n, 2n ** 64n - 1n])),
    () => field(number, depth <= 0 ? Buffer.alloc(0) : message(random, depth - 1)),
  );
}

function message(random: SeededRandom, depth: number): Buffer {
  return Buffer.concat(random.some(5, () => anyField(random, depth)));
}

/** An entry of a map, for metadata and for data. */
function entry(key: string, value: string): Buffer {
  return Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]);
}

/** Content that is legal on the wire, and extreme. */
function extreme(random: SeededRandom): Buffer {
  const count = random.pick([100, 1001, random.chance(0.3) ? 33_000 : 300]);
  return random.one(
    () => field(2, field(1, repeated(field(11, entry('a', 'b')), count))),
    () => field(2, Buffer.concat(Array.from({ length: count }, (_, at) => field(2, entry(`k${at}`, 'v'))))),
    () =>
      field(2, field(1, Buffer.concat(Array.from({ length: count }, (_, at) => field(14, Buffer.from(`a.b/${at}`)))))),
    () => field(2, repeated(field(2, entry('k', 'x'.repeat(count))), 20)),
    () =>
      field(
        2,
        field(1, field(17, field(7, field(1, Buffer.from(`${'{"f:a":'.repeat(count)}{}${'}'.repeat(count)}`))))),
      ),
    () => repeated(field(2, Buffer.alloc(0)), count),
    () => repeated(Buffer.from([0x28, 0]), random.pick([1000, 100_000, random.chance(0.2) ? 1_400_000 : 10])),
    () => field(5, Buffer.alloc(random.pick([1000, random.chance(0.1) ? 3_000_000 : 100_000]))),
    () =>
      Array.from({ length: random.pick([10, 1000, random.chance(0.1) ? 30_000 : 100]) }).reduce<Buffer>(
        (inner) => field(2, inner),
        Buffer.alloc(0),
      ),
  );
}

function objectFor(random: SeededRandom, kind: BuiltInKind, name: string): JsonObject {
  const object = builtInObject(kind, random.chance(0.95) ? name : random.pick(['', '.', '__proto__', 'A b', 'é']));
  const { data, ...others } = object;
  return random.chance(0.7) ? { ...others, ...(kind.model.group === '' ? { data: data! } : {}) } : object;
}

function bodyFor(random: SeededRandom, kind: BuiltInKind, name: string): Buffer {
  const model = random.chance(0.9) ? kind.model : pickKind(random, moreKinds).model;
  const bytes = encodeProtobuf(objectFor(random, kind, name), protobufFieldsOf(model, { name: 'v1' })!);
  return random.one(
    () => bytes,
    () => {
      const changed = Buffer.from(bytes);
      for (let i = random.pick([1, 2, 8]); i > 0; i -= 1)
        changed[random.below(changed.length)] = random.pick([0, 1, 0x0a, 0x7f, 0x80, 0xff, random.below(256)]);
      return changed;
    },
    () => bytes.subarray(0, random.below(bytes.length)),
    () => mutateBytes(random, bytes),
    () => Buffer.concat([bytes, message(random, 3)]),
    () => Buffer.concat([magic, field(1, entry('v1', kind.model.names.kind)), field(2, message(random, 4))]),
    () => Buffer.concat([magic, message(random, 5)]),
    () => Buffer.concat([bytes, extreme(random)]),
    () => Buffer.concat([magic, field(1, entry('v1', kind.model.names.kind)), extreme(random)]),
    () => random.pick([Buffer.alloc(0), magic, Buffer.from('{}'), Buffer.concat([magic, magic]), random.bytes(50)]),
  );
}

/** Bodies in protobuf: cut off, of wrong lengths, deep, long, with fields that are not known, and of another kind. */
export const protobufBodies: AttackArea = {
  name: 'protobuf bodies',
  weight: 5,
  generate(random) {
    const name = caseName(random);
    const kind = pickKind(random, moreKinds);
    const one = `${kind.path}/${name}`;
    const send = (method: string, target: string): WireRequest => {
      const type = random.chance(0.95) ? protobuf : `${protobuf};${random.pick(['stream=watch', 'x', 'a="'])}`;
      return typed(json(method, target, bodyFor(random, kind, name)), type);
    };
    const search = random.pick(['', '', '', '?dryRun=All', '?fieldValidation=Strict', '?fieldManager=m']);
    const writes = random.one<WireRequest[]>(
      () => [send('POST', kind.path + search)],
      () => [createBuiltIn(kind, name), send('PUT', one + search)],
      () => [send('POST', kind.path), send('PUT', one + search)],
      () => [createBuiltIn(kind, name), send('DELETE', one)],
      () => [createBuiltIn(kind, name), send('PATCH', one)],
    );
    return { changes: 'maybe', ...writeAndRead(random, { collection: kind.path, name, writes }) };
  },
};
