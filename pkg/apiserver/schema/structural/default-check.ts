import { fieldError, type JsonSchema, type SlicedWork, type StatusCause } from '#pkg/apimachinery/index';
import { applyValueDefaults, DefaultsTooLarge, type DefaultBudget } from '../apply-defaults.ts';
import { cloneJson, isJsonValue } from '../json-value.ts';
import type { LeafValidators } from '../leaf/leaf-validators.ts';
import { pruneValue } from '../prune.ts';
import { ValidationWalk, type WalkMeters } from '../validation/validation-walk.ts';

const maxCauses = 10;

/** The limits of checking all defaults of one schema. */
export interface DefaultCheck {
  leaves: LeafValidators;
  meters: WalkMeters;
  budget: DefaultBudget;
}

/** A default must be valid by its own schema, without fields that the schema does not know. */
export function* defaultCauses(
  schema: JsonSchema,
  path: string,
  { leaves, meters, budget }: DefaultCheck,
): SlicedWork<StatusCause[]> {
  const at = `${path}.default`;
  if (!isJsonValue(schema.default)) return [fieldError.invalid(at, typeof schema.default, 'must be a JSON value')];
  const value = cloneJson(schema.default);
  const unknown = pruneValue(value, schema);
  if (unknown.length > 0)
    return [fieldError.invalid(at, '', `must not have unknown fields: ${unknown.slice(0, maxCauses).join(', ')}`)];
  try {
    applyValueDefaults(value, schema, { budget });
  } catch (error) {
    if (!(error instanceof DefaultsTooLarge)) throw error;
    return [fieldError.invalid(at, '', 'the defaults within the defaults of the schema are too large together')];
  }
  const walk = new ValidationWalk(leaves, { meters, maxCauses });
  yield* walk.visit({ schema, value, old: undefined, path: at });
  if (meters.patterns.refusal !== undefined)
    return [fieldError.invalid(at, '', `among the defaults of the schema this one ${meters.patterns.refusal}`)];
  if (meters.visits.exhausted) return [fieldError.invalid(at, '', meters.visits.refusal)];
  return walk.causes;
}
