import type { SeededRandom } from '../../harness/seeded-random.ts';
import { json, type WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import { type BuiltInKind, builtInKinds as kinds, builtInObject, createBuiltIn, pickKind } from './built-in-objects.ts';
import { jsonText } from './hostile-json.ts';
import { writeAndRead } from './read-back.ts';

function jsonObject(random: SeededRandom, kind: BuiltInKind, name: string): string {
  const members = ['data', 'binaryData', 'stringData', 'immutable', 'type', 'spec', 'rules']
    .filter(() => random.chance(0.4))
    .map((member) => `"${member}":${random.chance(0.5) ? `{"a":${jsonText(random, 1)}}` : jsonText(random, 2)}`);
  const { apiVersion, kind: named } = builtInObject(kind, name);
  const head = `"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(named)},"metadata":{"name":"${name}"}`;
  return `{${[head, ...members].join(',')}}`;
}

/** ConfigMaps, Secrets, Leases and Roles as JSON. */
export const builtInKinds: AttackArea = {
  name: 'built-in kinds',
  weight: 5,
  generate(random) {
    const name = caseName(random);
    const kind = pickKind(random, kinds);
    const writes = random.one<WireRequest[]>(
      () => [json('POST', kind.path, jsonObject(random, kind, name))],
      () => [createBuiltIn(kind, name), json('PUT', `${kind.path}/${name}`, jsonObject(random, kind, name))],
    );
    return { changes: 'maybe', ...writeAndRead(random, { collection: kind.path, name, writes }) };
  },
};
