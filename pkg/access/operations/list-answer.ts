import { newFieldErrors } from '../http/access-error.ts';
import { jsonAnswer, type AccessResponse, type OpenCall } from './operation.ts';

const maxLimit = 1000;

/** The requested part of a list. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/**
 * Reads `limit` (at most 1000, larger values count as 1000) and `offset`; undefined: the whole list. Throws `{limit:
 * [..]}` for an invalid or repeated value.
 */
export function readPage(query: URLSearchParams): Page | undefined {
  const limit = readNumber(query, 'limit', 1);
  const offset = readNumber(query, 'offset', 0);
  return limit === undefined ? undefined : { limit: Math.min(limit, maxLimit), offset: offset ?? 0 };
}

function readNumber(query: URLSearchParams, name: string, least: number): number | undefined {
  const values = query.getAll(name);
  if (values.length === 0) return undefined;
  const [text = ''] = values;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (values.length > 1 || !(value >= least))
    throw newFieldErrors({ [name]: [`A whole number from ${least} is expected.`] });
  return value;
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
