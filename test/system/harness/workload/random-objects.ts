import type { FieldClause, Fields, LabelClause, SelectorRecord } from '../history/history.ts';
import type { SeededRandom } from '../seeded-random.ts';
import type { SampleModel } from './sample-models.ts';
import { fieldsOf, indexNameOf } from './sample-models.ts';

const categories: readonly [string, ...string[]] = ['c-0', 'c-1', 'c-2', 'c-3', 'c-4'];
const tags: readonly [string, ...string[]] = ['red', 'green', 'blue', 'black'];
const teams: readonly [string, ...string[]] = ['a', 'b', 'c'];
const slugs = 90;
const codes = 200;
const priorities = 10;

export function chanceLabels(random: SeededRandom): Record<string, string> {
  return { ...(random.chance(0.8) ? { team: random.pick(teams) } : {}), ...(random.chance(0.3) ? { flag: '' } : {}) };
}

/** Random values for all fields, some of them absent. */
export function chanceFields(model: SampleModel, random: SeededRandom): Fields {
  return Object.fromEntries(fieldsOf(model).map((index) => [indexNameOf(index), chanceValue(index.field, random)]));
}

/** Random values for some of the fields, for a patch. */
export function chanceChange(model: SampleModel, random: SeededRandom): Fields {
  return Object.fromEntries(Object.entries(chanceFields(model, random)).filter(() => random.chance(0.4)));
}

function chanceValue(field: string, random: SeededRandom): Fields[string] {
  if (field === 'tags') return tags.filter(() => random.chance(0.4));
  if (random.chance(0.15)) return null;
  switch (field) {
    case 'slug':
      return `slug-${random.below(slugs)}`;
    case 'code':
      return random.chance(0.5) ? null : random.below(codes);
    case 'priority':
      return random.below(priorities);
    default:
      return random.pick(categories);
  }
}

/** A random selector by labels, fields, both or none. */
export function chanceSelector(model: SampleModel, random: SeededRandom): SelectorRecord {
  const has = (field: string): boolean => model.indexes.some((index) => index.field === field);
  const fields: FieldClause[] = [];
  if (has('category') && random.chance(0.4)) fields.push(categoryClause(random));
  if (has('priority') && random.chance(0.25))
    fields.push({
      field: 'spec.priority',
      operator: random.pick(['>', '>=', '<', '<=']),
      value: random.below(priorities),
    });
  if (has('tags') && random.chance(0.25))
    fields.push({
      field: 'spec.tags',
      operator: random.pick(['in', 'notIn']),
      values: [random.pick(tags), random.pick(tags)],
    });
  return { labels: random.chance(0.4) ? [labelClause(random)] : [], fields };
}

function categoryClause(random: SeededRandom): FieldClause {
  const field = 'spec.category';
  switch (random.below(4)) {
    case 0:
      return { field, operator: 'prefix', value: 'c-' };
    case 1:
      return { field, operator: random.pick(['exists', 'absent']) };
    case 2:
      return { field, operator: 'notIn', values: [random.pick(categories)] };
    default:
      return { field, operator: 'in', values: [random.pick(categories), random.pick(categories)] };
  }
}

function labelClause(random: SeededRandom): LabelClause {
  if (random.chance(0.3)) return { key: random.pick(['team', 'flag']), operator: random.pick(['exists', 'absent']) };
  return { key: 'team', operator: random.pick(['in', 'notIn']), values: [random.pick(teams), random.pick(teams)] };
}
