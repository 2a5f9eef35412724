import { get } from '../../harness/wire/wire-request.ts';
import { query, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { hostileText, mutateText } from './hostile-text.ts';

function key(random: SeededRandom): string {
  return random.one(
    () => 'lang',
    () => 'example.com/n',
    () => 'svc.run/x',
    () => hostileText(random),
  );
}

function value(random: SeededRandom): string {
  return random.one(
    () => 'en',
    () => 'de',
    () => String(random.below(30)),
    () => '',
    () => hostileText(random),
  );
}

function clause(random: SeededRandom): string {
  const values = (): string =>
    random.some(random.chance(0.02) ? 1100 : 4, () => value(random)).join(random.pick([',', ', ', ' ,']));
  return random.one(
    () => `${key(random)}${random.pick(['=', '==', '!=', ' = ', '=!', '===', '<>', '>', '^='])}${value(random)}`,
    () => `${random.pick(['', '!', '!!', '! '])}${key(random)}`,
    () => `${key(random)} ${random.pick(['in', 'notin', 'IN', 'not in', ''])} (${values()})`,
    () => `${key(random)}=(${values()}${random.pick([')', '', '))'])}`,
  );
}

export function labelSelector(random: SeededRandom): string {
  const text = random
    .some(random.chance(0.02) ? 120 : 3, () => clause(random))
    .join(random.pick([',', ',', ' , ', ',,', ';']));
  return random.chance(0.3) ? mutateText(random, text) : text;
}

/** Lists and watches by labels, from well-formed to garbage. */
export const labelSelectors: AttackArea = {
  name: 'label selectors',
  weight: 6,
  generate(random, fixtures) {
    const pairs = random.some(2, () => ['labelSelector', labelSelector(random)] as const);
    const watch = random.chance(0.05);
    const search = query([
      ['labelSelector', labelSelector(random)],
      ...pairs,
      ...(watch
        ? ([
            ['watch', '1'],
            ['timeoutSeconds', '1'],
          ] as const)
        : []),
    ]);
    return {
      changes: 'never',
      requests: [
        { ...get(random.pick([fixtures.posts, fixtures.notes]) + search), ...(watch ? { stream: true } : {}) },
      ],
    };
  },
};
