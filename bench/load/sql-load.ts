import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { pause } from '#pkg/apimachinery/index';
import type { MeasuredProcesses } from '../../test/system/harness/process/process-usage.ts';
import { SampleRecorder, type Sample } from '../report/sample.ts';
import { serveJobs } from '../../test/system/harness/process/worker-process.ts';

/** Inserts copies of an existing row, in sequence on each connection, one commit each. */
export interface SqlLoadJob {
  connection: pg.ClientConfig;
  connections: number;
  /** A table with the row to copy into `table` under new names. */
  source: string;
  table: string;
  /** Also writes the row's change in the same statement, with a number from `sequence`. */
  log?: { table: string; sequence: string };
  /** Prefix of every name. */
  names: string;
  warmUpSeconds: number;
  seconds: number;
  processes: MeasuredProcesses;
}

type Row = Record<string, unknown>;

async function insertAll(job: SqlLoadJob): Promise<Sample> {
  const clients = Array.from({ length: job.connections }, () => new pg.Client(job.connection));
  await Promise.all(clients.map((client) => client.connect()));
  try {
    const { rows } = await clients[0]!.query<Row>(`SELECT * FROM ${job.source} LIMIT 1`);
    const insert = insertOf(job, rows[0]!);
    const recorder = new SampleRecorder(job.processes);
    const over = new AbortController();
    let sent = 0;
    const drive = async (client: pg.Client): Promise<void> => {
      while (!over.signal.aborted) {
        sent += 1;
        const sentAt = performance.now();
        await client.query(insert(`${job.names}-${sent}`));
        recorder.add(performance.now() - sentAt);
      }
    };
    const loops = Promise.all(clients.map(drive));
    await Promise.race([loops, pause(job.warmUpSeconds * 1000)]);
    recorder.open();
    await Promise.race([loops, pause(job.seconds * 1000)]);
    const sample = recorder.close();
    over.abort();
    await loops;
    return sample;
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/** The statement that inserts the row under a new name. */
function insertOf({ table, log }: SqlLoadJob, row: Row): (name: string) => pg.QueryConfig {
  const columns = Object.keys(row);
  const place = (column: string): string => `$${columns.indexOf(column) + 1}`;
  const into = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(place).join(', ')})`;
  const logged =
    log === undefined
      ? into
      : `WITH inserted AS (${into} RETURNING namespace, name, body, fingerprint) INSERT INTO ${log.table} (rev, size, model, type, namespace, name, new, new_fingerprint) ` +
        `SELECT nextval('${log.sequence}'), length(body), 0, 'A', namespace, name, body, fingerprint FROM inserted`;
  return (name) => ({ name: 'insert', text: logged, values: renamed(row, columns, name) });
}

/** The row with a new name and uid, wherever they occur. */
function renamed(row: Row, columns: string[], name: string): unknown[] {
  const old = String(row['name']);
  return columns.map((column) => {
    const value = row[column];
    if (column === 'uid') return randomUUID();
    return typeof value === 'string' ? value.replaceAll(old, name) : value;
  });
}

serveJobs(insertAll);
