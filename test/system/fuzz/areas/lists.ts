import { get } from '../../harness/wire/wire-request.ts';
import { malformedEscape, query, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { fieldSelector, indexNames } from './field-selectors.ts';
import { hostileText, mutateText } from './hostile-text.ts';
import { labelSelector } from './label-selectors.ts';

function sort(random: SeededRandom): string {
  const one = (): string =>
    `${random.chance(0.9) ? random.pick(indexNames) : hostileText(random)}${random.pick(['', ',asc', ',desc', ', desc', ',up', ','])}`;
  return random.chance(0.1) ? mutateText(random, one()) : one();
}

const counts = [
  '0',
  '1',
  '2',
  '3',
  '20',
  '1000',
  '1001',
  '-1',
  '',
  '01',
  '+1',
  '1.0',
  '1e3',
  ' 1',
  '0x1',
  '9007199254740991',
  '9007199254740993',
  '4611686018427387904',
  '99999999999999999999',
];

function count(random: SeededRandom): string {
  return random.chance(0.9) ? random.pick(counts) : hostileText(random);
}

const flags = ['true', 'false', '1', '0', 'TRUE', 'yes', '', 'null'];

/** Sort, paging, chunks, revisions, and all other list parameters, in any number and combination. */
export const lists: AttackArea = {
  name: 'lists',
  weight: 10,
  generate(random, fixtures) {
    const revision = (): string =>
      random.one(
        () => '0',
        () => String(fixtures.revision),
        () => String(fixtures.revision - random.below(50)),
        () => String(fixtures.revision + random.below(10_000_000)),
        () => count(random),
      );
    const makers: (() => [string, string])[] = [
      () => ['sort', sort(random)],
      () => ['sort', sort(random)],
      () => ['page', count(random)],
      () => ['size', count(random)],
      () => ['limit', count(random)],
      () => ['continue', random.pick(fixtures.continueTokens).token],
      () => ['resourceVersion', revision()],
      () => ['resourceVersionMatch', random.pick(['Exact', 'NotOlderThan', 'exact', '', hostileText(random)])],
      () => ['exactTotal', random.pick(flags)],
      () => ['labelSelector', labelSelector(random)],
      () => ['fieldSelector', fieldSelector(random)],
      () => ['pretty', random.pick(flags)],
      () => ['includeObject', random.pick(['Object', 'Metadata', 'None', 'x'])],
      () => [hostileText(random), hostileText(random)],
    ];
    const search = query(random.some(random.chance(0.02) ? 200 : 5, () => random.one(...makers)));
    const raw = random.chance(0.1) ? mutateText(random, search).replaceAll(/[^\x21-\x7e]|#/g, '') : search;
    const accept = random.pick([
      'application/json',
      'application/json;as=Table;v=v1;g=meta.k8s.io',
      'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
      'application/yaml',
      '*/*',
      'application/problem+json, application/json',
    ]);
    const target = random.pick([fixtures.posts, fixtures.posts, fixtures.notes, fixtures.frees]) + raw;
    return {
      changes: 'never',
      requests: [get(random.chance(0.03) ? malformedEscape(random, target) : target, [['Accept', accept]])],
    };
  },
};
