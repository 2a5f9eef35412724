import type { JsonSchema } from '#pkg/apimachinery/index';
import { objectSchema, type OperationDocument } from '../http/operation.ts';

/** The two shapes of a list. */
export function listSchema(item: JsonSchema): JsonSchema {
  const url: JsonSchema = { type: 'string', nullable: true };
  const items: JsonSchema = { type: 'array', items: item };
  return { oneOf: [items, objectSchema({ count: { type: 'integer' }, next: url, previous: url, results: items })] };
}

/** Of every list. */
export const pageParameters: NonNullable<OperationDocument['query']> = [
  {
    name: 'limit',
    description: 'So many at most, and the answer is a page; above 1000 it is 1000.',
    schema: { type: 'integer', minimum: 1 },
  },
  { name: 'offset', description: 'From there on; with `limit` only.', schema: { type: 'integer', minimum: 0 } },
];

export const orderParameter = (
  orders: ReadonlyMap<string, unknown>,
): { name: string; description: string; schema: JsonSchema } => ({
  name: 'order',
  description: 'By this field; after a minus, from the end.',
  schema: { type: 'string', enum: [...orders.keys()].flatMap((field) => [field, `-${field}`]) },
});
