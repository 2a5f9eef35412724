import { Type } from 'typebox';
import { CheckedFields } from './checked-fields.ts';
import { wholeNumber } from './field-schemas.ts';
import { jsonAnswer, type AccessResponse, type OpenCall } from './operation.ts';

const maxLimit = 1000;

/** The requested part of a list. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

const limitField = Type.Object({
  limit: wholeNumber(1, `So many at most, and the answer is a page; above ${maxLimit} it is ${maxLimit}.`),
});
const offsetField = Type.Object({ offset: wholeNumber(0, 'From there on; with `limit` only.') });

/** Query parameters of every list. */
export const rangeFields = { ...limitField.properties, ...offsetField.properties };

/**
 * Reads `limit` (larger values than 1000 count as 1000) and `offset`; undefined: the whole list. Throws `{limit: [..]}`
 * for an invalid or repeated value; the first wrong parameter is the only one that clients are told.
 */
export function readPage(query: URLSearchParams): Page | undefined {
  const { limit } = CheckedFields.ofQuery(limitField, query).done();
  const { offset = 0 } = CheckedFields.ofQuery(offsetField, query).done();
  return limit === undefined ? undefined : { limit: Math.min(limit, maxLimit), offset };
}

export interface ListSource<Row, Shown extends object = object> {
  /** All rows in order, in batches, read at the client's pace. */
  all(): AsyncIterable<readonly Row[]>;
  /** One part and the total count, from one snapshot. */
  page(page: Page): Promise<{ count: number; rows: readonly Row[] }>;
  present(row: Row): Shown;
}

/** A short list that is read at once. */
export function shortList<Row, Shown extends object>(
  rows: readonly Row[],
  present: (row: Row) => Shown,
): ListSource<Row, Shown> {
  return {
    all: async function* everything() {
      yield rows;
    },
    page: async ({ limit, offset }) => ({ count: rows.length, rows: rows.slice(offset, offset + limit) }),
    present,
  };
}

/**
 * The two forms of every list: an array of all, or with `limit` `{count, next, previous, results}`, whose URLs keep the
 * other parameters.
 */
export async function listAnswer<Row>(
  { query, request }: Pick<OpenCall, 'query' | 'request'>,
  source: ListSource<Row>,
): Promise<AccessResponse> {
  const page = readPage(query);
  if (page === undefined) return { status: 200, stream: arrayOf(source) };
  const { count, rows } = await source.page(page);
  const { limit, offset } = page;
  const urlAt = (start: number): string => {
    const parameters = new URLSearchParams(query);
    parameters.set('limit', String(limit));
    parameters.set('offset', String(start));
    return `${request.baseUrl}${request.target.split('?', 1)[0]}?${parameters.toString()}`;
  };
  return jsonAnswer(200, {
    count,
    next: offset + limit < count ? urlAt(offset + limit) : null,
    previous: offset > 0 ? urlAt(Math.max(0, offset - limit)) : null,
    results: rows.map((row) => source.present(row)),
  });
}

async function* arrayOf<Row>(source: ListSource<Row>): AsyncGenerator<string> {
  let separator = '[';
  for await (const rows of source.all()) {
    for (const row of rows) {
      yield separator + JSON.stringify(source.present(row));
      separator = ',';
    }
  }
  yield separator === '[' ? '[]' : ']';
}
