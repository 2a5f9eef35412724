import type { IndexDefinition } from '../scheme/index-definition.ts';
import { newBadRequest, type StatusError } from '../status/status-error.ts';
import type { Sort, SortKey } from './requirement.ts';

/** More keys than this have no effect and cost memory. */
export const maxSortKeys = 8;

/**
 * Parses all occurrences of the query parameter `sort`, `<field>[,asc|desc]`, in priority order; default ascending; the
 * direction is case-insensitive. `indexes` are the built-in ones and the model's; only single-value indexes can be
 * sorted by. `name` is short for `metadata.name`. One field per occurrence: Halo's `sort=a,b,desc` is refused. An empty
 * occurrence adds nothing. Errors: 400 with a cause that names the field and lists the sortable ones.
 */
export function parseSort(texts: readonly string[], indexes: readonly IndexDefinition[]): Sort {
  const sortable = new Map(indexes.filter((index) => !index.multi).map((index) => [index.name, index]));
  const fail = (field: string, detail: string): StatusError => {
    const message = `${detail}; sortable fields: ${[...sortable.keys()].join(', ')}`;
    return newBadRequest(`unable to parse sort: ${field === 'sort' ? '' : `${field}: `}${detail}`, [
      { reason: 'FieldValueInvalid', message, field },
    ]);
  };
  const sort: Sort = [];
  for (const text of texts) {
    if (text.trim() === '') continue;
    if (sort.length === maxSortKeys) throw fail('sort', `at most ${maxSortKeys} keys are taken`);
    sort.push(parseKey(text, sortable, fail));
    const repeated = sort.findIndex((key) => key.index === sort.at(-1)?.index);
    if (repeated < sort.length - 1) throw fail(sort[repeated]?.index.name ?? 'sort', 'given twice');
  }
  return sort;
}

function parseKey(
  text: string,
  sortable: ReadonlyMap<string, IndexDefinition>,
  fail: (field: string, detail: string) => StatusError,
): SortKey {
  const [name = '', direction = 'asc', ...rest] = text.split(',', 3).map((part) => part.trim());
  const field = name.length <= 253 ? name : `${name.slice(0, 250)}...`;
  const index = sortable.get(name === 'name' ? 'metadata.name' : name);
  if (index === undefined) throw fail(field === '' ? 'sort' : field, 'not an indexed field of a single value');
  const descending = /^desc$/i.test(direction);
  if (rest.length > 0 || (!descending && !/^asc$/i.test(direction))) {
    throw fail(field, "a field is followed by nothing, ',asc' or ',desc'; give 'sort' once for each field");
  }
  return { index, descending };
}
