import type { SeededRandom } from '../../harness/seeded-random.ts';
import { json, type WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import { createBuiltIn, moreKinds, pickKind, typed } from './built-in-objects.ts';
import { jsonString, jsonText } from './hostile-json.ts';
import { mutateBytes } from './hostile-text.ts';
import { writeAndRead } from './read-back.ts';

const lists = ['finalizers', 'ownerReferences', 'managedFields', 'labels', 'conditions', 'subjects', 'rules', 'x', ''];
const owner = '"apiVersion":"v1","kind":"ConfigMap","name":"o"';

function texts(random: SeededRandom): string {
  const count = random.chance(0.02) ? random.pick([5000, 40_000]) : random.below(4);
  return `[${Array.from({ length: count }, (_, at) => `"example.com/${random.pick(['e', 'f', String(at)])}"`).join(',')}]`;
}

function owners(random: SeededRandom): string {
  const count = random.chance(0.02) ? random.pick([2000, 15_000]) : random.below(4);
  const one = (at: number): string =>
    random.one(
      () => `{${owner},"uid":"${at}"}`,
      () => `{"uid":"${random.below(4)}","$patch":"delete"}`,
      () => `{"$patch":"replace"}`,
      () => `{"uid":${jsonText(random, 1)}}`,
      () => `{${owner},"uid":"${random.below(4)}","$retainKeys":["uid",${jsonString(random)}]}`,
      () => (random.chance(0.9) ? `{${owner},"uid":"${at}"}` : jsonText(random, 2)),
    );
  return `[${Array.from({ length: count }, (_, at) => one(at)).join(',')}]`;
}

/** One member of a patch: a directive, a list that merges, or anything. */
function member(random: SeededRandom, depth: number): string {
  const list = random.pick(lists);
  return random.one(
    () =>
      `"$patch":${random.pick(['"delete"', '"replace"', '"merge"', '"Delete"', '[]', 'null', jsonText(random, 1)])}`,
    () =>
      `"$retainKeys":${random.one(
        () => '["finalizers","name","labels"]',
        () => texts(random),
        () => jsonText(random, 2),
      )}`,
    () =>
      `"$setElementOrder/${list}":${random.one(
        () => texts(random),
        () => owners(random),
        () => jsonText(random, 2),
      )}`,
    () =>
      `"$deleteFromPrimitiveList/${list}":${random.one(
        () => texts(random),
        () => jsonText(random, 2),
      )}`,
    () =>
      `"finalizers":${random.one(
        () => texts(random),
        () => jsonText(random, 1),
      )}`,
    () => `"ownerReferences":${owners(random)}`,
    () =>
      `"labels":{"a":${random.pick(['null', '"c"', '{}'])},"$patch":${random.pick(['"replace"', '"delete"', '1'])}}`,
    () =>
      `"conditions":[{"type":"A","status":"True","$patch":${random.pick(['"delete"', '"merge"'])}},${jsonText(random, 1)}]`,
    () => `${jsonString(random)}:${jsonText(random, 2)}`,
    () =>
      depth <= 0
        ? '"a":1'
        : `"${random.pick(['metadata', 'data', 'spec', 'status', 'x'])}":${patch(random, depth - 1)}`,
  );
}

function patch(random: SeededRandom, depth: number): string {
  return `{${Array.from({ length: random.between(1, 4) }, () => member(random, depth)).join(',')}}`;
}

function body(random: SeededRandom): Buffer {
  const text = random.one(
    () => `{"metadata":${patch(random, 1)}}`,
    () => `{"metadata":${patch(random, 1)}}`,
    () => `{"metadata":{"finalizers":${texts(random)},"$setElementOrder/finalizers":${texts(random)}}}`,
    () => `{"metadata":{"ownerReferences":${owners(random)},"$setElementOrder/ownerReferences":${owners(random)}}}`,
    () => `{"status":${patch(random, 1)}}`,
    () => patch(random, 3),
    () => jsonText(random, 3),
    () => `${'{"x":'.repeat(random.pick([50, 98, 101]))}{"$patch":"replace"}${'}'.repeat(50)}`,
    () =>
      `{"data":{${Array.from({ length: random.chance(0.05) ? 30_000 : 3 }, (_, at) => `"k${at}":null`).join(',')}}}`,
  );
  return random.chance(0.1) ? mutateBytes(random, Buffer.from(text)) : Buffer.from(text);
}

/** Strategic merge patches of built-in kinds: directives in every place, and lists that merge. */
export const strategicPatches: AttackArea = {
  name: 'strategic patches',
  weight: 5,
  generate(random) {
    const name = caseName(random);
    const kind = pickKind(random, moreKinds);
    const suffix = kind.model.names.kind === 'Namespace' && random.chance(0.5) ? '/status' : '';
    const search = random.pick([
      '',
      '',
      '',
      '?fieldManager=m',
      '?dryRun=All',
      '?fieldValidation=Strict',
      '?force=true',
    ]);
    const one = (): WireRequest =>
      typed(
        json('PATCH', `${kind.path}/${name}${suffix}${search}`, body(random)),
        'application/strategic-merge-patch+json',
      );
    const writes = [createBuiltIn(kind, name), ...Array.from({ length: random.between(1, 3) }, one)];
    return { changes: 'maybe', ...writeAndRead(random, { collection: kind.path, name, writes }) };
  },
};
