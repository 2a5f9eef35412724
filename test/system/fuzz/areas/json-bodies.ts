import { json, type WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { group, type FuzzTargets } from '../fuzz-targets.ts';
import { hostileJsonBody, jsonText } from './hostile-json.ts';

/** The value as the spec or another part of an object of this name. */
export function objectAround(random: SeededRandom, kind: string, name: string): (value: string) => string {
  const place = random.pick(['spec', 'spec', 'spec', 'metadata', 'labels', 'status', 'name', 'top']);
  const head = `"apiVersion":"${group}/v1","kind":"${kind}"`;
  return (value) => {
    if (place === 'metadata') return `{${head},"metadata":${value}}`;
    if (place === 'labels')
      return `{${head},"metadata":{"name":"${name}","${random.pick(['labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields', 'creationTimestamp', 'resourceVersion', 'uid', 'generation'])}":${value}}}`;
    if (place === 'name') return `{${head},"metadata":{"name":${value}},"spec":{}}`;
    if (place === 'top')
      return `{${head},"metadata":{"name":"${name}"},${JSON.stringify(random.pick(['data', '__proto__', 'spec', 'kind', 'apiVersion', 'metadata']))}:${value}}`;
    return `{${head},"metadata":{"name":"${name}"},"${place}":${value}}`;
  };
}

export function anyWrite(random: SeededRandom, fixtures: FuzzTargets, name: string, body: Buffer): WireRequest {
  const collection = random.pick([fixtures.frees, fixtures.frees, fixtures.posts, fixtures.notes]);
  const suffix = random.pick([
    '',
    '',
    '?fieldValidation=Strict',
    '?fieldValidation=Ignore',
    '?dryRun=All',
    '?fieldManager=x',
  ]);
  return random.chance(0.6)
    ? json('POST', collection + suffix, body)
    : json(
        'PUT',
        `${collection}/${name}${random.chance(0.15) ? random.pick(['/status', '/scale']) : ''}${suffix}`,
        body,
      );
}

/** Bodies as bytes: valid and invalid JSON, in every place of an object. */
export const jsonBodies: AttackArea = {
  name: 'json bodies',
  weight: 10,
  generate(random, fixtures) {
    const name = caseName(random);
    const around = objectAround(random, random.pick(['Free', 'Free', 'Post', 'Note']), name);
    const body = random.chance(0.5) ? hostileJsonBody(random, around) : Buffer.from(around(jsonText(random)));
    return { changes: 'maybe', requests: [anyWrite(random, fixtures, name, body)] };
  },
};
