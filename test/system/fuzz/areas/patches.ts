import { json, type WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { hostileJsonBody, jsonText } from './hostile-json.ts';
import { hostileText } from './hostile-text.ts';
import { group } from '../fuzz-targets.ts';

const tokens = [
  'spec',
  'metadata',
  'labels',
  'annotations',
  'name',
  'finalizers',
  'status',
  'a',
  'b',
  '0',
  '1',
  '-',
  '-1',
  '00',
  '1e0',
  '4294967295',
  '99999999999999999999',
  '~0',
  '~1',
  '~',
  '~2',
  '__proto__',
  'constructor',
  'length',
  '',
  'tags',
  'parts',
  'priority',
  'kind',
  'apiVersion',
];

function pointer(random: SeededRandom): string {
  if (random.chance(0.05)) return `/spec${'/a'.repeat(random.pick([100, 3000, 50_000]))}`;
  if (random.chance(0.05)) return hostileText(random);
  const parts = random.some(4, () => (random.chance(0.9) ? random.pick(tokens) : hostileText(random)));
  return (random.chance(0.7) ? '/spec' : '') + parts.map((part) => `/${part}`).join('');
}

function operation(random: SeededRandom): string {
  const op = random.pick(['add', 'add', 'replace', 'remove', 'move', 'copy', 'copy', 'test', 'Add', '', '__proto__']);
  const members = [`"op":${JSON.stringify(op)}`, `"path":${JSON.stringify(pointer(random))}`];
  if (random.chance(0.8)) members.push(`"value":${jsonText(random, 3)}`);
  if (random.chance(0.4)) members.push(`"from":${JSON.stringify(pointer(random))}`);
  if (random.chance(0.05)) members.push(`"path":${jsonText(random, 1)}`);
  return `{${members.join(',')}}`;
}

/** Each copy doubles the object, unless the server limits it. */
function doubling(random: SeededRandom): string {
  const copies = Array.from(
    { length: random.pick([5, 16, 30, 200]) },
    () => '{"op":"copy","from":"/spec","path":"/spec/a"}',
  );
  return `[{"op":"add","path":"/spec","value":{"a":[1,2,3],"b":"x"}},${copies.join(',')}]`;
}

function jsonPatch(random: SeededRandom): string {
  return random.chance(0.05)
    ? doubling(random)
    : `[${random.some(random.chance(0.003) ? 12_000 : 5, () => operation(random)).join(',')}]`;
}

function patch(random: SeededRandom, target: string): WireRequest {
  const [type, body] = random.one<[string, string | Buffer]>(
    () => ['application/json-patch+json', jsonPatch(random)],
    () => ['application/json-patch+json', jsonPatch(random)],
    () => ['application/merge-patch+json', jsonText(random, 5)],
    () => ['application/merge-patch+json', `{"spec":${jsonText(random, 4)},"metadata":${jsonText(random, 3)}}`],
    () => ['application/merge-patch+json', hostileJsonBody(random, (value) => `{"spec":{"a":${value}}}`)],
    () => [
      'application/apply-patch+yaml',
      `apiVersion: ${group}/v1\nkind: Free\nmetadata: {name: x}\nspec: ${jsonText(random, 3)}`,
    ],
    () => [
      random.pick([
        'application/strategic-merge-patch+json',
        'application/json',
        'application/merge-patch+json; charset=utf-16',
        '',
        'x',
      ]),
      '{}',
    ],
  );
  const request = json('PATCH', target, body);
  return { ...request, headers: [['Content-Type', type]] };
}

/** JSON patches, merge patches and applies, on objects, their status and their scale. */
export const patches: AttackArea = {
  name: 'patches',
  weight: 10,
  generate(random, fixtures) {
    const name = caseName(random);
    const free = random.chance(0.7);
    const collection = free ? fixtures.frees : fixtures.posts;
    const create = json('POST', collection, {
      apiVersion: `${group}/v1`,
      kind: free ? 'Free' : 'Post',
      metadata: { name },
      spec: { a: [1, 2, 3], b: { c: 'd' }, title: 't', tags: ['a'] },
    });
    const suffix = random.chance(0.15) ? random.pick(['/status', '/scale']) : '';
    const search = random.pick([
      '',
      '',
      '?fieldManager=m',
      '?force=true',
      '?dryRun=All',
      '?fieldValidation=Strict',
      '?force=x&fieldManager=',
    ]);
    return {
      changes: 'maybe',
      requests: [...(random.chance(0.5) ? [create] : []), patch(random, `${collection}/${name}${suffix}${search}`)],
    };
  },
};
