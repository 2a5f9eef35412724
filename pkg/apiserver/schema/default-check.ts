import { fieldError, type JsonSchema, type StatusCause } from '#pkg/apimachinery/index';
import { applyValueDefaults } from './apply-defaults.ts';
import { cloneJson, isJsonValue } from './json-value.ts';
import type { LeafValidators } from './leaf-validators.ts';
import { pruneValue } from './prune.ts';
import { ValidationWalk } from './validation-walk.ts';

const MOST_CAUSES = 10;

/** A default must be a value its own schema accepts, with no field the schema does not know. */
export function defaultCauses(schema: JsonSchema, path: string, leaves: LeafValidators): StatusCause[] {
  const at = `${path}.default`;
  if (!isJsonValue(schema.default)) return [fieldError.invalid(at, typeof schema.default, 'must be a JSON value')];
  const value = cloneJson(schema.default);
  const unknown = pruneValue(value, schema);
  if (unknown.length > 0) return [fieldError.invalid(at, '', `must not have unknown fields: ${unknown.slice(0, MOST_CAUSES).join(', ')}`)];
  applyValueDefaults(value, schema);
  leaves.meter.reset();
  const walk = new ValidationWalk(leaves, MOST_CAUSES);
  walk.visit({ schema, value, old: undefined, path: at });
  if (leaves.meter.exhausted) return [fieldError.invalid(at, '', 'holds too much text to be matched against patterns')];
  return walk.causes;
}
