import type { JsonSchema } from '#pkg/apimachinery/index';

/** The field types of one version of a model: what is a leaf, what is merged by which keys. */
export interface TypeSchema {
  /** What the package computed; opaque to others. */
  readonly root: unknown;
}

/**
 * Computes the field types of a version once, from its structural schema. Without one, they are deduced from each
 * value: maps are merged, lists are replaced.
 */
export function newTypeSchema(schema: JsonSchema | undefined): TypeSchema {
  return { root: schema };
}
