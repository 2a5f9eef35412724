import { Type, type TObject, type TSchema } from 'typebox';
import { nullable } from './field-schemas.ts';

/** What the declaration of a list says: its records, and the fields of the query that select them. */
export function listOf<Query extends TObject>(record: TSchema, query?: Query) {
  const url = nullable(Type.String());
  const all = Type.Array(record);
  const page = Type.Object({ count: Type.Integer(), next: url, previous: url, results: all });
  return {
    isList: true,
    ...(query === undefined ? {} : { query }),
    answers: { 200: Type.Unsafe({ oneOf: [all, page] }) },
  };
}
