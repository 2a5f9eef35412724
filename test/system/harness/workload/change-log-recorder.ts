import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { CompactionSample, FinalState, IncarnationRecord, LogRow, ObjectState } from '../history/history.ts';
import { now } from '../history/instant.ts';
import { group, observedObject, sampleModels, stateOf, type SampleModel, type WireObject } from './sample-models.ts';

const everyMs = 60;
const pageRows = 2000;
const queryTimeoutMs = 10_000;

/** The same statement that compacts the log copies the rows to a table of the test, so that no row is missed. */
const preparations = [
  'CREATE SCHEMA faults',
  'CREATE TABLE faults.kept (LIKE platform.change_log) TABLESPACE pg_default',
  'CREATE INDEX ON faults.kept (rev) TABLESPACE pg_default',
  `CREATE FUNCTION faults.keep() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN INSERT INTO faults.kept SELECT * FROM gone; RETURN NULL; END $$`,
  `CREATE TRIGGER keep AFTER DELETE ON platform.change_log REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION faults.keep()`,
];

const columns = 'rev, model, type, namespace, name, prev, old, new, batch';
const wholeLog = `(SELECT ${columns} FROM faults.kept UNION ALL SELECT ${columns} FROM platform.change_log) l`;

/** The database without servers and proxies, as superuser. */
export interface RecordedDatabase {
  /** The caller ends the session. */
  connect(): Promise<pg.Client>;
  /** Runs one statement in its own session. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
}

interface TableRow {
  rev: string;
  model: number;
  type: LogRow['type'];
  namespace: string;
  name: string;
  prev: string | null;
  old: string | null;
  new: string | null;
  batch: string | null;
}

interface Life {
  model: SampleModel;
  replaces: number;
}

/** Follows the log by SQL, without servers, proxies and limits, and checks at the end whether it is unchanged. */
export class ChangeLogRecorder {
  readonly rows: LogRow[] = [];
  readonly compactions: CompactionSample[] = [];
  /** Revisions that were seen but are missing from the log: committed and lost. */
  readonly lost: number[] = [];
  readonly #postgres: RecordedDatabase;
  /** The rows that were read, to compare with the final ones. */
  readonly #texts = new Map<number, string>();
  readonly #lives = new Map<number, Life>();
  /** The newest body of each object, so that equal ones are kept once. */
  readonly #bodies = new Map<string, { text: string; state: ObjectState }>();
  #cursor = 0;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  static async start(postgres: RecordedDatabase): Promise<ChangeLogRecorder> {
    for (const text of preparations) await postgres.query(text);
    const recorder = new ChangeLogRecorder(postgres);
    recorder.#work = recorder.#run();
    return recorder;
  }

  private constructor(postgres: RecordedDatabase) {
    this.#postgres = postgres;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Reads to the end, then everything once more. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
    const client = await this.#postgres.connect();
    try {
      while (await this.#readPage(client));
      await this.#readAgain(client);
      await this.#sampleCompaction(client);
    } finally {
      await client.end();
    }
  }

  /** All lives of the run's models. */
  async incarnations(): Promise<IncarnationRecord[]> {
    const lives = [...this.#lives]
      .map(([id, { model, replaces }]) => ({ id, model: model.name, replaces }))
      .toSorted((a, b) => a.id - b.id);
    const living = new Set(
      (await this.#postgres.query<{ id: number }>('SELECT id FROM platform.models')).map(({ id }) => id),
    );
    const drops = await this.#postgres.query<{ name: string; rev: string }>(
      "SELECT resource || '.' || api_group AS name, rev FROM platform.dropped_models",
    );
    return lives.map((life) => {
      if (living.has(life.id)) return life;
      const next = lives.find(({ id, model }) => model === life.model && id > life.id);
      const dropped = next?.replaces ?? Number(drops.find(({ name }) => name === life.model)?.rev ?? 0);
      return { ...life, dropped };
    });
  }

  /** The content of the tables. */
  async finalStates(): Promise<FinalState[]> {
    const states: FinalState[] = [];
    for (const { id, resource } of await this.#postgres.query<{ id: number; resource: string }>(
      'SELECT id, resource FROM platform.models WHERE api_group = $1',
      [group],
    )) {
      const model = sampleModels.find(({ plural }) => plural === resource);
      if (model === undefined) continue;
      const rows = await this.#postgres.query<{ newest: string; rev: string | null; body: string | null }>(
        `SELECT (SELECT max(rev) FROM platform.change_log) AS newest, m.rev, m.body FROM (SELECT 1) one LEFT JOIN platform.m_${id} m ON true`,
      );
      const objects = rows.flatMap(({ rev, body }) =>
        rev === null || body === null
          ? []
          : [{ ...observedObject(model, JSON.parse(body) as WireObject), revision: Number(rev) }],
      );
      states.push({ source: 'sql', model: model.name, revision: Number(rows[0]?.newest), objects });
    }
    return states;
  }

  async #run(): Promise<void> {
    let client: pg.Client | undefined;
    while (!this.#isOver) {
      try {
        client ??= await this.#postgres.connect();
        await this.#learnLives(client);
        if (!(await this.#readPage(client))) await delay(everyMs);
        await this.#sampleCompaction(client);
      } catch {
        // A fault may affect this session too.
        void client?.end().catch(() => undefined);
        client = undefined;
        await delay(everyMs);
      }
    }
    await client?.end().catch(() => undefined);
  }

  async #learnLives(client: pg.Client): Promise<void> {
    const { rows } = await ask<{ id: number; resource: string; replaces: string }>(
      client,
      'SELECT id, resource, replaces FROM platform.models WHERE api_group = $1',
      [group],
    );
    for (const { id, resource, replaces } of rows) {
      const model = sampleModels.find(({ plural }) => plural === resource);
      if (model !== undefined) this.#lives.set(id, { model, replaces: Number(replaces) });
    }
  }

  /** False at the end of the log. */
  async #readPage(client: pg.Client): Promise<boolean> {
    const { rows } = await ask<TableRow>(
      client,
      `SELECT * FROM ${wholeLog} WHERE rev > $1 ORDER BY rev LIMIT ${pageRows}`,
      [this.#cursor],
    );
    const recorded = now();
    if (rows.some(({ model }) => model !== 0 && !this.#lives.has(model))) await this.#learnLives(client);
    for (const row of rows) this.#add(row, recorded);
    this.#cursor = Number(rows.at(-1)?.rev ?? this.#cursor);
    return rows.length === pageRows;
  }

  /** Records rows that appeared late, changed or disappeared. */
  async #readAgain(client: pg.Client): Promise<void> {
    const missing = new Set(this.#texts.keys());
    for (let after = 0; ;) {
      const { rows } = await ask<TableRow>(
        client,
        `SELECT * FROM ${wholeLog} WHERE rev > $1 ORDER BY rev LIMIT ${pageRows}`,
        [after],
      );
      const recorded = now();
      for (const row of rows) {
        missing.delete(Number(row.rev));
        if (this.#texts.get(Number(row.rev)) !== textOf(row)) this.#add(row, recorded);
      }
      if (rows.length < pageRows) break;
      after = Number(rows.at(-1)?.rev);
    }
    if (missing.size > 0) this.lost.push(...missing);
  }

  async #sampleCompaction(client: pg.Client): Promise<void> {
    const { rows } = await ask<{ compacted: string }>(client, 'SELECT compacted FROM platform.meta');
    const compacted = Number(rows[0]?.compacted);
    this.compactions.push({ at: now(), compacted });
  }

  #add(row: TableRow, recorded: number): void {
    this.#texts.set(Number(row.rev), textOf(row));
    const model = this.#lives.get(row.model)?.model;
    const key = `${row.model}/${row.namespace}/${row.name}`;
    const old = model === undefined || row.old === null ? null : this.#stateOf(model, key, row.old);
    const next = model === undefined || row.new === null ? null : this.#stateOf(model, key, row.new);
    this.rows.push({
      revision: Number(row.rev),
      incarnation: row.model,
      type: row.type,
      namespace: row.namespace,
      name: row.name,
      previous: row.prev === null ? null : Number(row.prev),
      old,
      new: next,
      batch: row.batch,
      recorded,
    });
  }

  #stateOf(model: SampleModel, key: string, text: string): ObjectState {
    const last = this.#bodies.get(key);
    if (last?.text === text) return last.state;
    const state = stateOf(model, JSON.parse(text) as WireObject);
    this.#bodies.set(key, { text, state });
    return state;
  }
}

function textOf(row: TableRow): string {
  const { rev, model, type, namespace, name, prev, batch } = row;
  return [rev, model, type, namespace, name, prev, batch, row.old?.length, row.new?.length].join('/');
}

function ask<Row extends pg.QueryResultRow>(
  client: pg.Client,
  text: string,
  values: unknown[] = [],
): Promise<pg.QueryResult<Row>> {
  // Missing in pg's types: the timeout of a query.
  const config: pg.QueryConfig & { query_timeout: number } = { text, values, query_timeout: queryTimeoutMs };
  return client.query<Row>(config);
}
