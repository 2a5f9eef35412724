import {
  fieldError,
  isJsonObject,
  runSync,
  type JsonObject,
  type JsonSchema,
  type SlicedWork,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { applyResourceDefaults, type DefaultingOptions } from './apply-defaults.ts';
import { propertySchema } from './child-schema.ts';
import { LeafValidators } from './leaf/leaf-validators.ts';
import { PatternMeter } from './leaf/linear-pattern.ts';
import { pruneResource } from './prune.ts';
import { hasValidationRules } from './validation/validation-rules.ts';
import { ValidationWalk } from './validation/validation-walk.ts';
import { VisitMeter } from './validation/visit-meter.ts';

/**
 * Prunes, defaults and validates objects by one version's schema. Its work is bounded; validation, the largest part,
 * can run in slices.
 */
export interface SchemaValidator {
  /**
   * Removes unknown fields in place.
   *
   * @returns their JSON paths (`spec.bogus`, `spec.list[0].x`), at most 100.
   */
  prune(object: JsonObject): string[];
  /**
   * Sets defaults in place; a null that is not allowed is replaced by the default, or removed unless `keepsNulls`.
   * @throws DefaultsTooLarge, a StatusError 413, above the budget; the object is then only partly changed.
   */
  applyDefaults(object: JsonObject, options?: DefaultingOptions): void;
  /**
   * Causes of a 422, at most 100; none if the object is valid. The object is not changed.
   *
   * With `old`, values that were invalid before and did not change pass (rules: see ValidationWalk).
   */
  validate(object: JsonObject, old?: JsonObject): StatusCause[];
  /** The same in slices; neither object may change meanwhile. */
  validating(object: JsonObject, old?: JsonObject): SlicedWork<StatusCause[]>;
  /** The same for the `status` only: an invalid spec must not prevent a controller from writing status. */
  validatingStatus(object: JsonObject, old?: JsonObject): SlicedWork<StatusCause[]>;
  /** True if the schema or a part of it carries `x-kubernetes-validations`, which are not enforced. */
  readonly hasRules: boolean;
}

/**
 * Creates the validator of a schema that `validateStructuralSchema` accepts and that does not change afterwards.
 *
 * Creating it is cheap: rules are compiled when the first objects need them. Objects must not be nested deeper than the
 * decoder allows (100).
 */
export function compileSchemaValidator(schema: JsonSchema): SchemaValidator {
  return new StructuralSchemaValidator(schema);
}

class StructuralSchemaValidator implements SchemaValidator {
  readonly #schema: JsonSchema;
  #leaves: LeafValidators | undefined;
  #hasRules: boolean | undefined;

  constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  get hasRules(): boolean {
    this.#hasRules ??= hasValidationRules(this.#schema);
    return this.#hasRules;
  }

  prune(object: JsonObject): string[] {
    return pruneResource(object, this.#schema);
  }

  applyDefaults(object: JsonObject, options?: DefaultingOptions): void {
    applyResourceDefaults(object, this.#schema, options);
  }

  validate(object: JsonObject, old?: JsonObject): StatusCause[] {
    return runSync(this.validating(object, old));
  }

  validating(object: JsonObject, old?: JsonObject): SlicedWork<StatusCause[]> {
    return this.#walk((walk) => walk.visitRoot(this.#schema, object, old));
  }

  *validatingStatus(object: JsonObject, old?: JsonObject): SlicedWork<StatusCause[]> {
    const schema = propertySchema(this.#schema, 'status');
    const value = statusOf(object);
    if (schema === undefined || value === undefined) return [];
    return yield* this.#walk((walk) => walk.visit({ schema, value, old: statusOf(old), path: 'status' }));
  }

  *#walk(visit: (walk: ValidationWalk) => SlicedWork<void>): SlicedWork<StatusCause[]> {
    this.#leaves ??= new LeafValidators();
    // Separate meters for each validation: others may run between its slices.
    const meters = { visits: new VisitMeter(), patterns: new PatternMeter() };
    const walk = new ValidationWalk(this.#leaves, { meters });
    yield* visit(walk);
    if (meters.visits.exhausted) return [fieldError.invalid('', 'object', meters.visits.refusal)];
    // Above the limit `not: {pattern}` would pass unchecked, so the whole object is refused.
    if (meters.patterns.refusal !== undefined) return [fieldError.invalid('', 'object', meters.patterns.refusal)];
    return walk.causes;
  }
}

function statusOf(object: JsonObject | undefined): JsonObject[string] | undefined {
  return isJsonObject(object) && Object.hasOwn(object, 'status') ? object['status'] : undefined;
}
