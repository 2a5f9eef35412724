import type { SeededRandom } from '../../harness/seeded-random.ts';
import { group, shapeFields } from '../fuzz-targets.ts';
import { jsonString, jsonText, numberLiterals } from './hostile-json.ts';

const names = ['a', 'b', 'c', 'd', '', '0', 'é', 'x<y', '__proto__', 'a.b/c'];

function text(random: SeededRandom): string {
  return random.chance(0.9) ? JSON.stringify(random.pick(names)) : jsonString(random);
}

function count(random: SeededRandom): string {
  return random.chance(0.9) ? String(random.below(5)) : random.pick(numberLiterals);
}

/** Few items, or once in a while so many that each step of a write takes long. */
function list(random: SeededRandom, most: number, make: (at: number) => string): string {
  const size = random.chance(0.01) ? random.pick([1000, most / 4, most]) : random.below(5);
  return `[${Array.from({ length: size }, (_, at) => make(at)).join(',')}]`;
}

function map(random: SeededRandom, most: number, make: (at: number) => string): string {
  const size = random.chance(0.01) ? random.pick([1000, most / 4, most]) : random.below(5);
  return `{${Array.from({ length: size }, (_, at) => `${size > 10 ? `"k${at}"` : text(random)}:${make(at)}`).join(',')}}`;
}

function keyed(random: SeededRandom): string {
  return list(random, 20_000, (at) =>
    random.one(
      () => `{"name":"n${at}"}`,
      () => `{"name":"n${at}","port":${count(random)}}`,
      () => `{"name":${text(random)},"value":${jsonText(random, 2)}}`,
      () => (random.chance(0.9) ? `{"name":"m${at}"}` : jsonText(random, 2)),
    ),
  );
}

const makers: Readonly<Record<string, (random: SeededRandom) => string>> = {
  text,
  count,
  flag: (random) => random.pick(['true', 'false', 'null']),
  either: (random) =>
    random.one(
      () => text(random),
      () => count(random),
    ),
  set: (random) => list(random, 48_000, (at) => (random.chance(0.5) ? `"s${at}"` : text(random))),
  numbers: (random) => list(random, 48_000, (at) => (random.chance(0.9) ? `${at}.5` : count(random))),
  atoms: (random) => list(random, 48_000, () => jsonText(random, 1)),
  keyed,
  ports: (random) =>
    list(random, 10_000, (at) =>
      random.one(
        () => `{"port":${at}}`,
        () => `{"port":${count(random)},"protocol":${random.pick(['"TCP"', '"UDP"', 'null', '1'])}}`,
        () => `{"port":${at},"inner":${keyed(random)}}`,
      ),
    ),
  map: (random) => map(random, 40_000, () => text(random)),
  maps: (random) => map(random, 10_000, () => `{"set":${keyed(random)},"text":${text(random)}}`),
  whole: (random) => `{"text":${text(random)},"count":${count(random)}}`,
  free: (random) => {
    const depth = random.chance(0.9) ? random.below(4) : random.pick([50, 90, 96, 97, 98, 100, 300]);
    return '{"a":'.repeat(depth) + jsonText(random, 3) + '}'.repeat(depth);
  },
};

/** The spec or status of a Shape: nearly always of its types. */
function content(random: SeededRandom): string {
  const fields = shapeFields
    .filter(() => random.chance(0.3))
    .map((name) => {
      const value = random.chance(0.96)
        ? makers[name]!(random)
        : random.pick(['null', '[]', '{}', jsonText(random, 2)]);
      return `"${name}":${value}`;
    });
  if (random.chance(0.3)) fields.push(`"replicas":${count(random)}`);
  if (random.chance(0.03)) fields.push(`${jsonString(random)}:${jsonText(random, 1)}`);
  return `{${fields.join(',')}}`;
}

function metadata(random: SeededRandom, name: string): string {
  const fields = [`"name":"${name}"`];
  const add = (chance: number, key: string, value: () => string): void => {
    if (random.chance(chance)) fields.push(`"${key}":${value()}`);
  };
  add(0.3, 'labels', () => `{"a":${random.pick(['"x"', '"y"', 'null'])}}`);
  add(0.2, 'annotations', () => map(random, 1000, () => text(random)));
  add(0.2, 'finalizers', () => list(random, 900, (at) => `"example.com/f${at}"`));
  add(0.1, 'ownerReferences', () => `[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":${text(random)}}]`);
  add(0.03, 'resourceVersion', () => random.pick(['"1"', '""', '"x"', '0']));
  add(0.03, 'uid', () => text(random));
  add(0.03, 'managedFields', () => random.pick(['null', '[]', '[{}]', jsonText(random, 2)]));
  add(0.02, 'namespace', () => text(random));
  add(0.02, 'creationTimestamp', () => random.pick(['null', '"2026-01-01T00:00:00Z"', '"x"']));
  return `{${fields.join(',')}}`;
}

/** A Shape in JSON, as a client would apply it. */
export function shapeText(random: SeededRandom, version: string, name: string): string {
  const apiVersion = random.chance(0.98) ? `${group}/${version}` : random.pick([`${group}/v3`, 'v1', '']);
  const members = [`"apiVersion":"${apiVersion}"`, `"kind":"Shape"`, `"metadata":${metadata(random, name)}`];
  if (random.chance(0.9)) members.push(`"spec":${content(random)}`);
  if (random.chance(0.3)) members.push(`"status":${content(random)}`);
  return `{${members.join(',')}}`;
}
