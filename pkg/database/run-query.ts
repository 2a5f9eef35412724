import { Kysely, PostgresDialect, sql, type CompiledQuery, type RawBuilder } from 'kysely';
import type { ClientBase, QueryResult, QueryResultRow } from 'pg';

/** Where a statement runs: on any connection of a pool, or on that of a transaction. */
export type Queryable = Pick<ClientBase, 'query'>;

/** A query of kysely's builder, or of its `sql`. */
interface Query<Row> {
  compile(compiler: Kysely<unknown>): CompiledQuery<Row>;
}

/** Builds queries for `runQuery` and `PreparedStatement`; knows no tables: `queryBuilder.withTables<Tables>()`. */
export const queryBuilder = new Kysely<unknown>({
  dialect: new PostgresDialect({
    pool: () => Promise.reject(new Error('this builder has no connections: use runQuery')),
  }),
});

/**
 * Runs a query, and answers as pg does. With a name PostgreSQL plans it once for each connection, and metrics tell it
 * apart; its text must then be the same each time.
 */
export function runQuery<Row extends QueryResultRow>(
  on: Queryable,
  query: Query<Row>,
  name?: string,
): Promise<QueryResult<Row>> {
  const { sql: text, parameters } = query.compile(queryBuilder);
  return on.query<Row>({ text, values: [...parameters], ...(name === undefined ? {} : { name }) });
}

/** What stands in a prepared statement for the values of one run. */
export type Placeholders<Values> = { readonly [Name in keyof Values]: RawBuilder<Values[Name]> };

class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** The value of every name. */
const placeholders: unknown = new Proxy({}, { get: (_target, name) => sql.val(new Placeholder(String(name))) });

/** A named query for hot paths: built once, planned once for each connection, run with other values each time. */
export class PreparedStatement<Values extends object, Row extends QueryResultRow> {
  readonly #name: string;
  readonly #text: string;
  readonly #parameters: readonly unknown[];

  constructor(name: string, build: (values: Placeholders<Values>) => Query<Row>) {
    const { sql: text, parameters } = build(placeholders as Placeholders<Values>).compile(queryBuilder);
    this.#name = name;
    this.#text = text;
    this.#parameters = parameters;
  }

  run(on: Queryable, values: Values): Promise<QueryResult<Row>> {
    return on.query<Row>({
      name: this.#name,
      text: this.#text,
      values: this.#parameters.map((parameter) =>
        parameter instanceof Placeholder ? values[parameter.name as keyof Values] : parameter,
      ),
    });
  }
}
