import { json } from '../../harness/wire/wire-request.ts';
import { caseName, wellFormed, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { group } from '../fuzz-targets.ts';
import { jsonText } from './hostile-json.ts';
import { hostileText } from './hostile-text.ts';

const dates = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00.123456789+14:00',
  '2026-13-01T00:00:00Z',
  '0000-00-00T00:00:00Z',
  '9999-12-31T23:59:60Z',
  '-2026-01-01T00:00:00Z',
  '2026-01-01',
  '+99999-01-01T00:00:00Z',
  '2026-02-29T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
];

function members(random: SeededRandom): string[] {
  const text = (): string => JSON.stringify(wellFormed(hostileText(random)).replaceAll('\0', ''));
  const long = (): string =>
    JSON.stringify(random.pick(['a', 'a-', '-', 'é', 'a@']).repeat(random.pick([10, 1000, 30_000])));
  const makers: (() => string)[] = [
    () => `"title":${random.one(text, long)}`,
    () => `"slug":${random.one(text, long)}`,
    () => `"email":${random.one(text, long)}`,
    () => `"priority":${jsonText(random, 1)}`,
    () => `"ratio":${jsonText(random, 1)}`,
    () => `"draft":${jsonText(random, 1)}`,
    () => `"publishedAt":${random.chance(0.7) ? JSON.stringify(random.pick(dates)) : text()}`,
    () => `"tags":[${random.some(random.chance(0.05) ? 120 : 5, text).join(',')}]`,
    () => `"colour":${random.pick(['"red"', '"blue"', 'null', '1'])}`,
    () =>
      `"parts":[${random.some(4, () => `{"name":${random.one(() => '"a"', text)},"size":${jsonText(random, 1)}}`).join(',')}]`,
    () => `"extra":{${random.some(4, () => `${text()}:${random.one(text, () => jsonText(random, 2))}`).join(',')}}`,
    () => `"replicas":${random.pick(['0', '1', '-1', '2147483648', '1.5', '"1"', 'null'])}`,
    () => `${text()}:${jsonText(random, 2)}`,
  ];
  return random.some(5, () => random.one(...makers));
}

/** Objects of a model with types, bounds, formats and indexes: almost valid, in every member. */
export const typedObjects: AttackArea = {
  name: 'typed objects',
  weight: 10,
  generate(random, fixtures) {
    const name = caseName(random);
    const isPost = random.chance(0.7);
    const spec = `{${members(random).join(',')}}`;
    const status = random.chance(0.3) ? `,"status":{"replicas":${jsonText(random, 1)},"phase":"x"}` : '';
    const body = `{"apiVersion":"${group}/v1","kind":"${isPost ? 'Post' : 'Note'}","metadata":{"name":"${name}"},"spec":${spec}${status}}`;
    const collection = isPost ? fixtures.posts : fixtures.notes;
    const scale = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"${name}"},"spec":{"replicas":${jsonText(random, 1)}}}`;
    const write = random.one(
      () => json('POST', collection, body),
      () => json('POST', collection, body),
      () => json('PUT', `${collection}/${name}`, body),
      () => json('PUT', `${collection}/${name}/status`, body),
      () => json('PUT', `${collection}/${name}/scale`, scale),
    );
    return { changes: 'maybe', requests: [write] };
  },
};
