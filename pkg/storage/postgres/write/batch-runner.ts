import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { pause } from '#pkg/apimachinery/index';
import { failureSuffix } from '#pkg/database/index';
import type { Change } from '../../change.ts';
import { StorageError } from '../../storage-error.ts';
import type { BatchReport, StoreObserver } from '../../store-observer.ts';
import {
  classifyFailure,
  isIdempotencyKeyUsed,
  isDiskFull,
  isOtherTimeline,
  violatedConstraint,
} from '../connection/database-failure.ts';
import type { ReplicaPresence } from '../connection/replica-presence.ts';
import { translateError } from '../connection/translate-error.ts';
import { newFenceLost } from '../table/lease-fence.ts';
import { batchRows, batchStatement, type BatchRow, type SentRow } from './batch-statement.ts';
import { constraintFailure, explainFailure } from './explain-failure.ts';
import { newIdempotencyKeyUsed, usedIdempotencyKeys } from './idempotency-keys.ts';
import { changeTypes, type BatchOperation } from './batch-operation.ts';
import { batchRowOf, singleStatement, type SingleRow } from './single-statement.ts';
import { withKeys } from './write-keys.ts';
import type { Session, WriterConnection } from './writer-connection.ts';

const maxTries = 5;
/** Longest pause before a lost database is asked again: a failover costs writes this much more. Milliseconds. */
const maxOutagePauseMs = 200;

/** A write that waits for its outcome. `prepare` is called again when the model's shape has changed. */
export interface PendingWrite {
  /** When the write was requested: `performance.now()`. */
  since: number;
  requestId?: string;
  operation: BatchOperation;
  prepare(): Promise<BatchOperation>;
  done(revision: number): void;
  failed(error: unknown): void;
}

/** Receives a batch's changes before its writers get their outcome. */
export interface BatchSink {
  /** Every change up to this revision has been delivered. */
  readonly cursor: number;
  /**
   * `first` to `last` are the revisions that the batch drew; `changes` are those that used one; `batch` is its mark in
   * the log.
   */
  committed(first: number, last: number, changes: readonly Change[], batch: string): void;
  /** Changes may have been committed that were not delivered. */
  uncertain(): void;
  /**
   * Checks whether another server took over. Returns false unless the log was read since, and has what this process
   * knows: then a write may rest on lost changes. Never rejects.
   */
  checkEpoch(): Promise<boolean>;
  /** Drops the cached tables of these operations. */
  stale(operations: readonly BatchOperation[]): void;
}

/** A batch's mark in the log, and the revision that its revisions must exceed. */
interface SentBatch {
  id: string;
  after: number;
}

export interface BatchRunnerOptions {
  connection: WriterConnection;
  pool: Pool;
  origin: string;
  replicas: Pick<ReplicaPresence, 'present'>;
  sink: BatchSink;
  /** How long a write may wait for its outcome while the database is unavailable. Milliseconds. */
  outageLimitMs: number;
  observer?: StoreObserver | undefined;
}

/** Sends batches and gives each write its own outcome, however the statement ends. */
export class BatchRunner {
  readonly #options: BatchRunnerOptions;

  constructor(options: BatchRunnerOptions) {
    this.#options = options;
  }

  /** Resolves when every write of the batch has its outcome; never rejects. */
  async run(writes: readonly PendingWrite[], tries = 0): Promise<void> {
    if (writes.length === 0) return;
    try {
      await this.#send(writes, tries);
    } catch (error) {
      for (const write of writes) write.failed(error);
    }
  }

  async #send(writes: readonly PendingWrite[], tries: number): Promise<void> {
    const batch = { id: randomUUID(), after: this.#options.sink.cursor };
    const start = performance.now();
    let rows: BatchRow[];
    try {
      rows = await this.#write(
        writes.map(({ operation }) => operation),
        batch.id,
      );
    } catch (error) {
      this.#report(writes, batch.id, start);
      await this.#recover(writes, batch, error, tries);
      return;
    }
    this.#report(writes, batch.id, start, rows);
    await this.#settle(writes, rows, tries, batch.id);
  }

  #report(writes: readonly PendingWrite[], id: string, start: number, rows?: readonly BatchRow[]): void {
    const { observer } = this.#options;
    if (observer === undefined) return;
    const bytes = writes.reduce((sum, { operation }) => sum + operation.size, 0);
    const named = (): ReturnType<BatchReport['writes']> =>
      writes.map(({ requestId }, i) => {
        const revision = rows?.[i]?.rev;
        return {
          ...(requestId === undefined ? {} : { requestId }),
          ...(revision == null ? {} : { revision: Number(revision) }),
        };
      });
    observer.batch({
      id,
      size: writes.length,
      bytes,
      ms: performance.now() - start,
      failed: rows === undefined,
      writes: named,
    });
  }

  /** A single operation uses the smaller statement. */
  async #write(operations: readonly BatchOperation[], batch: string): Promise<BatchRow[]> {
    const { connection, replicas, origin } = this.#options;
    const mark = { batch, origin: replicas.present ? origin : undefined };
    const [first] = operations;
    if (first === undefined || operations.length > 1 || first.idempotencyKey !== undefined) {
      return batchRows(operations, (await connection.run<SentRow>(batchStatement(operations, mark))).rows);
    }
    const { rows } = await connection.run<SingleRow>(singleStatement(first, mark));
    return rows.map((row) => batchRowOf(first, row));
  }

  async #settle(
    writes: readonly PendingWrite[],
    rows: readonly BatchRow[],
    tries: number,
    batch: string,
  ): Promise<void> {
    const header = rows[0];
    if (header?.shapes_match === false) return this.#again(writes, tries);
    const done = writes.flatMap((write, i) => (rows[i]?.rev == null ? [] : [{ write, revision: Number(rows[i].rev) }]));
    if (header?.first != null && header.last != null) {
      this.#options.sink.committed(
        Number(header.first),
        Number(header.last),
        done.map(({ write, revision }) => changeOf(write.operation, revision)),
        batch,
      );
    }
    for (const { write, revision } of done) write.done(revision);
    const undone = writes.flatMap((write, i) => (rows[i]?.rev == null ? [{ write, row: rows[i] }] : []));
    const explained = await Promise.all(
      undone.map(async ({ write, row }) => ({ write, isOver: await this.#explain(write, row) })),
    );
    const left = explained.flatMap(({ write, isOver }) => (isOver ? [] : [write]));
    if (left.length > 0) await this.#again(left, tries);
  }

  /** Returns false if nothing prevents the write any more. */
  async #explain(write: PendingWrite, row: BatchRow | undefined): Promise<boolean> {
    const { operation } = write;
    const { fence } = operation;
    const found = row?.found == null ? undefined : Number(row.found);
    try {
      const failure =
        fence !== undefined && row?.is_fence_lost === true
          ? newFenceLost(fence)
          : await explainFailure(this.#options.pool, operation, found);
      if (failure !== undefined) write.failed(failure);
      return failure !== undefined;
    } catch (error) {
      write.failed(translateError(error));
      return true;
    }
  }

  async #recover(writes: readonly PendingWrite[], batch: SentBatch, error: unknown, tries: number): Promise<void> {
    const failure = classifyFailure(error);
    if (failure === 'unknown') return this.#resolveUnknown(writes, batch, error, tries);
    if (isDiskFull(error) && writes.length > 1) return this.#deletionsFirst(writes, tries);
    if (failure === 'refused') {
      // The session itself may be the cause, for example on a standby: drop it. A full disk affects all sessions, and
      // the next write may need less of it.
      if (!isDiskFull(error)) await this.#options.connection.drop();
      throw translateError(error);
    }
    if (isOtherTimeline(error)) {
      const goesOn = await this.#options.sink.checkEpoch();
      if (!goesOn)
        throw new StorageError('Unavailable', 'the database failed over, and may have lost what this process knows');
      return this.#again(writes, tries, error);
    }
    // The batch is sent twice as a whole; then it is split, so that a blocked write does not delay the others.
    if (failure === 'retry' && (writes.length === 1 || tries === 0)) return this.#again(writes, tries, error);
    if (writes.length > 1)
      return isIdempotencyKeyUsed(error) ? this.#dropTaken(writes, tries) : this.#halve(writes, tries);
    const write = writes[0]!;
    if (failure === 'stale') return this.#again(writes, tries, error);
    if (isIdempotencyKeyUsed(error)) return write.failed(newIdempotencyKeyUsed());
    const constraint = violatedConstraint(error);
    write.failed(constraint === undefined ? error : constraintFailure(write.operation, constraint));
  }

  /** Fails the writes whose idempotency key is already used, and sends the others again together. */
  async #dropTaken(writes: readonly PendingWrite[], tries: number): Promise<void> {
    const taken = await usedIdempotencyKeys(
      this.#options.pool,
      writes.map(({ operation }) => operation.idempotencyKey),
    ).catch(() => new Set<number>());
    // The key has expired meanwhile, or the database did not answer.
    if (taken.size === 0) return this.#halve(writes, tries);
    for (const i of taken) writes[i]!.failed(newIdempotencyKeyUsed());
    await this.run(
      writes.filter((_, i) => !taken.has(i)),
      tries,
    );
  }

  /**
   * On a full disk a small write, above all a deletion, may still succeed: sends the writes one by one, deletions
   * first, so that none fails because of another.
   */
  async #deletionsFirst(writes: readonly PendingWrite[], tries: number): Promise<void> {
    const ordered = writes.toSorted((a, b) => Number(isDeletion(b)) - Number(isDeletion(a)));
    for (const write of ordered) await this.run([write], tries);
  }

  async #halve(writes: readonly PendingWrite[], tries: number): Promise<void> {
    const middle = Math.ceil(writes.length / 2);
    await this.run(writes.slice(0, middle), tries);
    await this.run(writes.slice(middle), tries);
  }

  /** Reads the tables again and resends the writes. */
  async #again(writes: readonly PendingWrite[], tries: number, error?: unknown): Promise<void> {
    if (tries >= maxTries)
      throw new StorageError('Timeout', `the write could not be completed${failureSuffix(error)}`, { cause: error });
    await pause(tries * 20);
    this.#options.sink.stale(writes.map(({ operation }) => operation));
    const prepared: PendingWrite[] = [];
    for (const write of writes) {
      try {
        prepared.push({ ...write, operation: await write.prepare() });
      } catch (failure) {
        write.failed(failure);
      }
    }
    await this.run(prepared, tries + 1);
  }

  /** After a lost connection: makes sure that the statement has ended, then reads its outcome from the log. */
  async #resolveUnknown(
    writes: readonly PendingWrite[],
    batch: SentBatch,
    error: unknown,
    tries: number,
  ): Promise<void> {
    const { connection, outageLimitMs, sink } = this.#options;
    const lost = connection.session;
    await connection.drop();
    const deadline = performance.now() + outageLimitMs;
    for (let wait = 20; ; wait = Math.min(wait * 2, maxOutagePauseMs)) {
      try {
        if (lost !== undefined) await this.#endSession(lost);
        const revisions = await this.#readLog(batch);
        if (revisions.size > 0) await this.#awaitStandbys();
        sink.uncertain();
        const undone = writes.filter((write) => {
          const revision = revisions.get(keyOf(write.operation));
          if (revision !== undefined) write.done(revision);
          return revision === undefined;
        });
        return revisions.size > 0 ? await this.run(undone, tries) : await this.#again(undone, tries, error);
      } catch (failure) {
        if (failure instanceof StorageError) throw failure;
        if (performance.now() > deadline) {
          throw new StorageError('Timeout', `whether the write was made is not known${failureSuffix(failure)}`, {
            cause: failure,
          });
        }
        await pause(wait);
      }
    }
  }

  /** Terminates a session that may still be running, and returns when it is gone. */
  async #endSession({ pid, startedAt }: Session): Promise<void> {
    const { rows } = await this.#options.pool.query<{ alive: boolean }>(
      'SELECT pg_terminate_backend(pid, 5000) AS alive FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2 AND pid <> pg_backend_pid()',
      [pid, startedAt],
    );
    if (rows[0]?.alive === false) throw new Error('the lost session did not end');
  }

  /**
   * A change in the log may exist only on this server: a session that is terminated while it waits for a synchronous
   * standby leaves its commit visible. A later commit waits in turn, and is acknowledged only when both are on the
   * standby.
   */
  async #awaitStandbys(): Promise<void> {
    await this.#options.pool.query("SELECT pg_logical_emit_message(true, 'svc', '')");
  }

  async #readLog({ id, after }: SentBatch): Promise<Map<string, number>> {
    const { rows } = await this.#options.pool.query<{
      compacted: string;
      rev: string | null;
      model: number;
      namespace: string;
      name: string;
    }>(
      'SELECT meta.compacted, c.rev, c.model, c.namespace, c.name FROM platform.meta LEFT JOIN platform.change_log c ON c.batch = $1 AND c.rev > $2',
      [id, after],
    );
    if (Number(rows[0]!.compacted) > after)
      throw new StorageError('Timeout', 'whether the write was made can no longer be known');
    return new Map(
      rows
        .filter(({ rev }) => rev !== null)
        .map((row) => [`${row.model}/${row.namespace}/${row.name}`, Number(row.rev)]),
    );
  }
}

function isDeletion({ operation }: PendingWrite): boolean {
  return operation.type === 'D';
}

function keyOf({ table, namespace, name }: BatchOperation): string {
  return `${table.id}/${namespace}/${name}`;
}

function changeOf(operation: BatchOperation, revision: number): Change {
  const { table, type, namespace, name, body, managed, fingerprint, from, computed } = operation;
  const change: Change = {
    revision,
    modelId: table.id,
    type: changeTypes[type],
    namespace,
    name,
    body,
    managed,
    fingerprint,
    ...(from === undefined
      ? {}
      : {
          old: { revision: from.revision, body: from.body, managed: from.managed, fingerprint: from.fingerprint },
        }),
  };
  return computed === undefined ? change : withKeys(change, computed.text, computed.oldText);
}
