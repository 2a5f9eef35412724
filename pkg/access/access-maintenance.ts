import { sql, type RawBuilder } from 'kysely';
import { runQuery, type DatabaseLog } from '#pkg/database/index';
import type { AccessDatabase } from './access-database.ts';
import { accessQuery } from './access-tables.ts';
import type { NameClaims } from './names/name-claims.ts';

export interface AccessMaintenanceOptions {
  database: AccessDatabase;
  log: DatabaseLog;
  /** Each round claims names that a replica of the previous version has created. Default: none. */
  names?: Pick<NameClaims, 'adopt'>;
  /** How long the audit is kept. Days, default 180. */
  auditRetentionDays?: number;
  /** Pause between rounds, plus or minus a tenth so that replicas do not run at the same time. Default 5 minutes. */
  everyMs?: number;
  /** Maximum number of rows that one statement deletes. Default 1000. */
  batch?: number;
}

type IsOver = (auditRetentionDays: number) => RawBuilder<boolean>;

const isExpired: IsOver = () => sql`expires < now()`;
const isOutdated: IsOver = (days) => sql`datetime < now() - make_interval(days => ${days})`;

/** Which rows to delete. */
const cleanings = [
  { table: 'bearer_tokens', isOver: isExpired },
  { table: 'sessions', isOver: isExpired },
  { table: 'signature_uses', isOver: isExpired },
  { table: 'login_failures', isOver: isExpired },
  { table: 'throttles', isOver: () => sql<boolean>`minute < now() - interval '2 minutes'` },
  { table: 'login_logs', isOver: isOutdated },
  { table: 'operate_logs', isOver: isOutdated },
] as const satisfies { table: string; isOver: IsOver }[];

/**
 * Deletes expired rows periodically, in small statements. A failed round is logged, and the next one tries again.
 * Several replicas may run it at the same time.
 */
export class AccessMaintenance {
  readonly #options: AccessMaintenanceOptions & Required<Omit<AccessMaintenanceOptions, 'names'>>;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #isRunning = false;
  #isStopping = false;

  constructor(options: AccessMaintenanceOptions) {
    this.#options = { auditRetentionDays: 180, everyMs: 300_000, batch: 1000, ...options };
  }

  /** The first round comes after one interval. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#schedule();
  }

  /** Ends the running round after its current statement, and resolves when it has ended; no further round starts. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  /** Deletes all expired rows now. */
  async clean(): Promise<void> {
    const { database, batch, auditRetentionDays } = this.#options;
    for (const { table, isOver } of cleanings) {
      // Locked, so that what changes meanwhile is looked at anew; what another replica is deleting is left to it.
      const rows = accessQuery
        .selectFrom(accessQuery.dynamic.table(`access.${table}`).as('t'))
        .select(sql.ref('ctid').as('ctid'))
        .where(isOver(auditRetentionDays))
        .limit(batch)
        .forUpdate()
        .skipLocked();
      const remove = accessQuery.deleteFrom(`access.${table}`).where(sql<boolean>`ctid = ANY(ARRAY${rows})`);
      while (!this.#isStopping && (await runQuery(database.pool, remove, `clean-${table}`)).rowCount === batch);
    }
  }

  #schedule(): void {
    const { everyMs } = this.#options;
    this.#timer = setTimeout(
      () => {
        this.#round = this.#runRound();
      },
      everyMs * (0.9 + Math.random() * 0.2),
    );
    this.#timer.unref();
  }

  async #runRound(): Promise<void> {
    try {
      await this.clean();
      await this.#options.names?.adopt();
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        'could not delete expired credentials and old audit rows, or not compare names; the next round retries',
      );
    }
    if (this.#isRunning) this.#schedule();
  }
}
