import { get } from '../../harness/wire/wire-request.ts';
import { query, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';
import { hostileText, mutateText } from './hostile-text.ts';

export const indexNames = [
  'name',
  'metadata.name',
  'metadata.namespace',
  'metadata.creationTimestamp',
  'metadata.deletionTimestamp',
  'spec.title',
  'spec.priority',
  'spec.ratio',
  'spec.draft',
  'spec.publishedAt',
  'spec.tags',
];

const values = [
  'Title 1',
  'p1',
  '5',
  '-5',
  '0.25',
  '1e3',
  'true',
  'false',
  '2026-01-12T00:00:00Z',
  '2026-01-12',
  'a',
  't1',
  'default',
  'null',
];

function field(random: SeededRandom): string {
  return random.chance(0.85) ? random.pick(indexNames) : hostileText(random);
}

function value(random: SeededRandom): string {
  return random.one(
    () => random.pick(values),
    () => random.pick(values),
    () => hostileText(random).replaceAll(/[,=\\()!<>^\s]/g, String.raw`\$&`),
    () => hostileText(random),
  );
}

function clause(random: SeededRandom): string {
  return random.one(
    () => `${field(random)}${random.pick(['=', '==', '!=', '>', '>=', '<', '<=', '^=', '=~', '=<'])}${value(random)}`,
    () => `${random.pick(['', '!'])}${field(random)}`,
    () =>
      `${field(random)}${random.pick([' in ', ' notin ', '=', ' '])}(${random.some(random.chance(0.02) ? 1100 : 4, () => value(random)).join(',')})`,
  );
}

export function fieldSelector(random: SeededRandom): string {
  const text = random.some(random.chance(0.02) ? 120 : 3, () => clause(random)).join(',');
  return random.chance(0.2) ? mutateText(random, text) : text;
}

/** A selector must be refused by name, or be applied: a count of its matches must be the same twice. */
function judge([first, second]: readonly (Answer | undefined)[]): string | undefined {
  if (first === undefined || second === undefined || first.status !== second.status)
    return 'the same list was answered differently';
  if (first.status !== 400) return undefined;
  if (headerOf(first, 'content-type') !== 'application/json') return undefined;
  const { details } = JSON.parse(first.body.toString()) as { details?: { causes?: { field?: string }[] } };
  return details?.causes?.some((cause) => cause.field !== undefined) === true
    ? undefined
    : 'a 400 without a cause that names a field';
}

/** Lists by indexes of every type. */
export const fieldSelectors: AttackArea = {
  name: 'field selectors',
  weight: 8,
  generate(random, fixtures) {
    const selector = fieldSelector(random);
    const more = random.chance(0.2) ? [['fieldSelector', fieldSelector(random)] as const] : [];
    const base = query([['fieldSelector', selector], ...more]);
    const target = random.pick([fixtures.posts, fixtures.posts, fixtures.notes]) + base;
    return { changes: 'never', requests: [get(target), get(`${target}&limit=5`)], judge };
  },
};
