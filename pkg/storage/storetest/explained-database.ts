import type { Pool, PoolClient, QueryResult } from 'pg';
import type { Database } from '#pkg/database/index';

/** One step of an executed plan, from EXPLAIN (FORMAT JSON). Source: the PostgreSQL manual, "Using EXPLAIN". */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

/** A statement that reads objects, and every step of its plan. */
export interface ExplainedStatement {
  text: string;
  nodes: PlanNode[];
}

type Query = (text: string | { text: string }, values?: unknown[]) => Promise<QueryResult>;

/** Matches the statements of lists, including those of a cursor. */
const listing = /^(?:DECLARE \w+ NO SCROLL CURSOR FOR )?((?:WITH|SELECT)\b.*)$/s;

/**
 * A database whose pools run each list twice, first with EXPLAIN. `statements` collects the plans until a test empties
 * it.
 */
export class ExplainedDatabase {
  readonly statements: ExplainedStatement[] = [];
  readonly database: Database;

  constructor(database: Database) {
    const newPool: Database['newPool'] = (options) => this.#explained(database.newPool(options));
    this.database = Object.assign(Object.create(database) as Database, { newPool });
  }

  #explained(pool: Pool): Pool {
    const connect = async (): Promise<PoolClient> => {
      const client = await pool.connect();
      return this.#intercepted(client);
    };
    return Object.assign(this.#intercepted(pool), { connect });
  }

  #intercepted<Runner extends Pool | PoolClient>(runner: Runner): Runner {
    const query = runner.query.bind(runner) as unknown as Query;
    const explained: Query = async (statement, values) => {
      const text = typeof statement === 'string' ? listing.exec(statement)?.[1] : undefined;
      if (text?.includes('platform.m_') === true) {
        const { rows } = await query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`, values);
        const [{ Plan }] = (rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'];
        this.statements.push({ text, nodes: flatten(Plan) });
      }
      return query(statement, values);
    };
    return Object.assign(Object.create(runner) as Runner, { query: explained });
  }
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

/** Number of table rows that a statement visited, kept or not. */
export function visited({ nodes }: ExplainedStatement): number {
  const scans = nodes.filter((node) => node['Relation Name'] !== undefined);
  return scans.reduce(
    (sum, node) =>
      sum +
      (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
        node['Actual Loops'],
    0,
  );
}

/** Growing tables that were read by a sequential scan. */
export function sequentialScans({ nodes }: ExplainedStatement): string[] {
  return nodes.flatMap((node) =>
    node['Node Type'] === 'Seq Scan' && node['Relation Name'] !== 'meta' ? [node['Relation Name'] ?? ''] : [],
  );
}
