import type { Pool } from 'pg';
import type { Database } from '#pkg/database/index';
import type { AuditLog, AuditPage, AuditQuery, AuditRecord } from '#pkg/audit/index';
import { translated } from '../connection/translate-error.ts';
import { textArray } from '../table/sql-value.ts';
import { AuditPartitions } from './audit-partitions.ts';
import { readAuditLog } from './audit-reader.ts';

export interface PostgresAuditLogOptions {
  database: Database;
  /** For short statements. */
  control: Pool;
  reads: Pool;
}

/** The audit log in the table `platform.audit_events`. */
export class PostgresAuditLog implements AuditLog {
  readonly #control: Pool;
  readonly #reads: Pool;
  readonly #partitions: AuditPartitions;

  constructor({ database, control, reads }: PostgresAuditLogOptions) {
    this.#control = control;
    this.#reads = reads;
    this.#partitions = new AuditPartitions(database);
  }

  async append(records: readonly AuditRecord[]): Promise<void> {
    if (records.length === 0) return;
    const texts = (of: (record: AuditRecord) => string): Buffer => textArray(records.map(of));
    await translated(
      this.#control.query({
        name: 'append-audit',
        text: `INSERT INTO platform.audit_events (id, username, verb, code, resource, namespace, name, event)
          SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[])`,
        values: [
          texts(({ id }) => id),
          texts(({ username }) => username),
          texts(({ verb }) => verb),
          records.map(({ code }) => code),
          texts(({ resource }) => resource),
          texts(({ namespace }) => namespace),
          texts(({ name }) => name),
          texts(({ event }) => event),
        ],
      }),
    );
  }

  list(query: AuditQuery): Promise<AuditPage> {
    return translated(readAuditLog(this.#reads, query));
  }

  maintain({ retentionDays, signal }: { retentionDays?: number; signal?: AbortSignal }): Promise<boolean> {
    return translated(this.#partitions.maintain(retentionDays, signal));
  }
}
