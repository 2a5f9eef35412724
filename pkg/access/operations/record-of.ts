import type { Static, TObject } from 'typebox';

/**
 * What clients see of a row: the fields of the record's schema, in its order, times as texts. `more` has those that the
 * row does not have, or has in another form.
 */
export function recordOf<S extends TObject>(schema: S, row: object, more: Partial<Static<S>> = {}): Static<S> {
  const values: Readonly<Record<string, unknown>> = { ...row, ...more };
  return Object.fromEntries(
    Object.keys(schema.properties).map((name) => {
      const value = values[name];
      return [name, value instanceof Date ? value.toISOString() : value];
    }),
  ) as Static<S>;
}
