import { Type } from 'typebox';
import { line } from './field-schemas.ts';

/** The query parameter `order`: a key, with a leading minus for descending order. */
export const orderField = (keys: ReadonlyMap<string, unknown>) =>
  Type.Optional(
    line({
      enum: [...keys.keys()].flatMap((key) => [key, `-${key}`]),
      description: 'By this field; after a minus, from the end.',
      refusal: `Expected one of ${[...keys.keys()].join(', ')}, or one of them after a minus.`,
    }),
  );

/** The first key is the default. */
export function orderOf<Key extends object>(
  order: string | undefined,
  keys: ReadonlyMap<string, Key>,
): Key & { isDescending: boolean } {
  const [first] = keys.keys();
  const isDescending = order?.startsWith('-') === true;
  const key = keys.get(order === undefined ? first! : isDescending ? order.slice(1) : order)!;
  return { ...key, isDescending };
}
