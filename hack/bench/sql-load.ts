import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { MeasuredProcesses } from './process-cpu.ts';
import { SampleRecorder, type Sample } from './sample.ts';
import { serveJobs } from './worker.ts';

/** Inserts a row like the one that is there, one after the other on one connection, each committed by itself. */
export interface SqlLoadJob {
  connection: pg.ClientConfig;
  /** Holds one row, which is copied into `table` under new names. */
  source: string;
  table: string;
  /** Begins every name. */
  names: string;
  warmUpSeconds: number;
  seconds: number;
  processes: MeasuredProcesses;
}

async function insertAll({ connection, source, table, names, warmUpSeconds, seconds, processes }: SqlLoadJob): Promise<Sample> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${source} LIMIT 1`);
    const row = rows[0]!;
    const columns = Object.keys(row);
    const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((_, i) => `$${i + 1}`).join(', ')})`;
    const recorder = new SampleRecorder(processes);
    const begin = performance.now();
    let opened = false;
    for (let i = 0; performance.now() - begin < (warmUpSeconds + seconds) * 1000; i += 1) {
      if (!opened && performance.now() - begin >= warmUpSeconds * 1000) {
        opened = true;
        recorder.open();
      }
      const values = renamed(row, columns, `${names}-${i}`);
      const sentAt = performance.now();
      await client.query({ name: 'insert', text, values });
      recorder.add(performance.now() - sentAt);
    }
    return recorder.close();
  } finally {
    await client.end();
  }
}

/** The row with a name and a uid of its own, wherever they stand in it. */
function renamed(row: Record<string, unknown>, columns: string[], name: string): unknown[] {
  const old = String(row['name']);
  return columns.map((column) => {
    const value = row[column];
    if (column === 'uid') return randomUUID();
    return typeof value === 'string' ? value.replaceAll(old, name) : value;
  });
}

serveJobs(insertAll);
