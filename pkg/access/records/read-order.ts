import type { FieldReader } from './field-reader.ts';
import type { KeysetSortKey } from './keyset-list.ts';

/** `order=<field>`, or `-<field>` from the end; without it the first of the fields there are. */
export function readOrder(
  reader: FieldReader,
  keys: ReadonlyMap<string, KeysetSortKey>,
): KeysetSortKey & { isDescending: boolean } {
  const [first] = keys.values();
  const text = reader.text('order');
  const isDescending = text?.startsWith('-') === true;
  const key = text === undefined ? first : keys.get(isDescending ? text.slice(1) : text);
  if (key === undefined)
    reader.refuse('order', `Expected one of ${[...keys.keys()].join(', ')}, or one of them after a minus.`);
  return { ...(key ?? first!), isDescending };
}
