import { fieldError, type JsonSchema, type StatusCause } from '#pkg/apimachinery/index';
import { applyValueDefaults } from './apply-defaults.ts';
import { DefaultsTooLarge, type DefaultBudget } from './default-budget.ts';
import { cloneJson, isJsonValue } from './json-value.ts';
import type { LeafValidators } from './leaf-validators.ts';
import { pruneValue } from './prune.ts';
import { ValidationWalk } from './validation-walk.ts';
import type { VisitMeter } from './visit-meter.ts';

const MOST_CAUSES = 10;

/** What the defaults of one schema may cost to check, all together. */
export interface DefaultCheck {
  leaves: LeafValidators;
  visits: VisitMeter;
  budget: DefaultBudget;
}

/** A default must be a value its own schema accepts, with no field the schema does not know. */
export function defaultCauses(schema: JsonSchema, path: string, { leaves, visits, budget }: DefaultCheck): StatusCause[] {
  const at = `${path}.default`;
  if (!isJsonValue(schema.default)) return [fieldError.invalid(at, typeof schema.default, 'must be a JSON value')];
  const value = cloneJson(schema.default);
  const unknown = pruneValue(value, schema);
  if (unknown.length > 0) return [fieldError.invalid(at, '', `must not have unknown fields: ${unknown.slice(0, MOST_CAUSES).join(', ')}`)];
  try {
    applyValueDefaults(value, schema, budget);
  } catch (error) {
    if (!(error instanceof DefaultsTooLarge)) throw error;
    return [fieldError.invalid(at, '', 'the defaults within the defaults of the schema are too large together')];
  }
  const walk = new ValidationWalk(leaves, { visits, most: MOST_CAUSES });
  walk.visit({ schema, value, old: undefined, path: at });
  if (leaves.meter.exhausted) return [fieldError.invalid(at, '', 'the defaults of the schema hold too much text to be matched against patterns')];
  if (visits.exhausted) return [fieldError.invalid(at, '', visits.refusal)];
  return walk.causes;
}
