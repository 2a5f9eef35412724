import type { Static, TObject } from 'typebox';

/**
 * Converts a row to a record for clients: the fields of the record's schema, in its order, times as texts. `more` has
 * fields that the row lacks or has in another form.
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
