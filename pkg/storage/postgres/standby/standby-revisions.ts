import type { ClientBase, Pool } from 'pg';
import { pause } from '#pkg/apimachinery/index';
import { failureSentence, type DatabaseLog } from '#pkg/database/index';
import { StorageError } from '../../storage-error.ts';
import type { StandbyState } from '../../store-observer.ts';
import { isStaleTable } from '../connection/database-failure.ts';
import { translateError } from '../connection/translate-error.ts';
import { checkEpoch, timeline } from '../history/epoch.ts';

/** How long a read waits for the standby, and for the primary to confirm what the standby has shown. Milliseconds. */
export const standbyWaitMs = 3000;
const minPauseMs = 1;
const maxPauseMs = 50;
/** Number of questions until the jump of a new primary must have been made. */
const maxQuestions = 5;
/** SQLSTATE of a function that a standby does not have. */
const inRecoveryCode = '55000';

/**
 * `is_checked`: `checkEpoch` has run on this server. Before that, revisions which the server before has given out may be
 * given out again.
 */
const newestText = `SELECT (SELECT max(rev) FROM platform.change_log) AS newest, concat_ws('/', epoch, timeline) AS history, system_identifier, timeline = ${timeline} AS is_checked FROM platform.meta`;
const shownText = 'SELECT max(rev) AS shown FROM platform.change_log';
const whyBehindText =
  "SELECT CASE WHEN NOT pg_is_in_recovery() THEN ': it was promoted, and follows it no more' WHEN pg_is_wal_replay_paused() THEN ': its replay is paused' ELSE '' END AS why";
const systemText = 'SELECT system_identifier::text AS system FROM pg_control_system()';

/** What the primary has answered. */
export interface Confirmed {
  /** Every change up to here is visible on the primary. */
  readonly revision: number;
  /** Another one: a failover or a restore came between. */
  readonly history: string;
  /** A standby has it, too. */
  readonly system: string;
  /** When the primary was asked: `performance.now()`. */
  readonly askedAt: number;
}

export interface StandbyRevisionsOptions {
  /** Of the primary. */
  pool: Pool;
  log: DatabaseLog;
  /** The change feed has delivered everything up to here. */
  cursor: () => number;
}

/**
 * Knows the newest revision that the primary has confirmed as visible, and the revision that each connection to the
 * standby shows. A standby may show less, and also more: a commit becomes visible there before the primary has
 * acknowledged it, and may be lost with the primary.
 *
 * The standby may be several servers behind one address, so what one connection shows says nothing of another. Revisions
 * also tell histories apart: after a failover they jump above all that was given out (`checkEpoch`), so a server that does
 * not follow the new primary never shows the revision that the primary names.
 */
export class StandbyRevisions {
  readonly #options: StandbyRevisionsOptions;
  readonly #shown = new WeakMap<ClientBase, number>();
  #confirmed: Confirmed | undefined;
  #asking: Promise<Confirmed> | undefined;
  #next: Promise<Confirmed> | undefined;
  #newestShown = 0;
  /** What was visible on the primary at this time has been seen on the standby. */
  #currentAt = performance.now();
  #waits = 0;
  #refusals = 0;

  constructor(options: StandbyRevisionsOptions) {
    this.#options = options;
  }

  /**
   * The newest revision of the primary. A question is shared by those who came before it was sent; who comes while it is
   * under way waits for the next one.
   */
  newest(): Promise<Confirmed> {
    this.#next ??= this.#askNext();
    return this.#next;
  }

  async #askNext(): Promise<Confirmed> {
    await this.#asking?.catch(() => undefined);
    this.#next = undefined;
    this.#asking = this.#ask();
    return this.#asking;
  }

  async #ask(): Promise<Confirmed> {
    const { pool, log } = this.#options;
    for (let questions = 1; questions <= maxQuestions; questions += 1) {
      const askedAt = performance.now();
      const { newest, history, system_identifier, is_checked } = await this.#query();
      if (is_checked)
        return (this.#confirmed = { revision: Number(newest), history, system: system_identifier, askedAt });
      await checkEpoch({ pool, log, ownsFiles: false }).catch((error: unknown) => {
        throw translateError(error);
      });
    }
    throw new StorageError('Unavailable', failureSentence('starting_up'));
  }

  async #query(): Promise<{ newest: string; history: string; system_identifier: string; is_checked: boolean }> {
    try {
      const { rows } = await this.#options.pool.query<{
        newest: string;
        history: string;
        system_identifier: string;
        is_checked: boolean;
      }>({ name: 'newest-confirmed', text: newestText });
      return rows[0]!;
    } catch (error) {
      // The primary has become a standby: the revisions that it shows are not confirmed by anybody.
      if ((error as { code?: unknown }).code === inRecoveryCode)
        throw new StorageError('Unavailable', failureSentence('read_only'), { cause: error });
      throw translateError(error);
    }
  }

  /**
   * Resolves when the primary has confirmed a revision that the standby has shown; with false if its history is another
   * one than it was `since`: what was read may be lost, and must be read again. @throws StorageError Unavailable
   */
  async confirm(revision: number, since: Confirmed): Promise<boolean> {
    const deadline = performance.now() + standbyWaitMs;
    let newest = this.#confirmed ?? since;
    for (let pauseMs = minPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      if (newest.history !== since.history) return false;
      if (revision <= newest.revision) return true;
      if (performance.now() > deadline)
        throw new StorageError('Unavailable', 'the primary database has not confirmed what its standby shows');
      newest = await this.newest();
      if (revision > newest.revision) await pause(pauseMs);
    }
  }

  /**
   * Resolves when the connection to the standby shows everything that the primary has confirmed, and the change feed has
   * delivered. While the standby has been behind for `limitMs`, it is asked only once. @throws StorageError Unavailable
   */
  async awaitShown(client: ClientBase, limitMs: number): Promise<void> {
    const confirmed = this.#confirmed ?? (await this.newest());
    const needed = Math.max(confirmed.revision, this.#options.cursor());
    const known = this.#shown.get(client);
    if (known === undefined) await checkSystem(client, confirmed.system);
    if (known === undefined || known < needed) {
      const deadline = performance.now() + limitMs;
      for (let pauseMs = minPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
        const shown = await shownBy(client);
        this.#shown.set(client, shown);
        this.#newestShown = Math.max(this.#newestShown, shown);
        if (shown >= needed) break;
        if (pauseMs === minPauseMs) this.#waits += 1;
        if (performance.now() > deadline || this.lagMs > standbyWaitMs) {
          this.#refusals += 1;
          throw new StorageError('Unavailable', await whyBehind(client));
        }
        await pause(pauseMs);
      }
    }
    this.#currentAt = Math.max(this.#currentAt, confirmed.askedAt);
  }

  /** How long ago the standby was seen to have everything that the primary had. */
  get lagMs(): number {
    return performance.now() - this.#currentAt;
  }

  state(): StandbyState {
    const confirmed = this.#confirmed?.revision ?? 0;
    return {
      lagMs: this.lagMs,
      lagRevisions: Math.max(0, confirmed - this.#newestShown),
      waits: this.#waits,
      refusals: this.#refusals,
    };
  }
}

async function checkSystem(client: ClientBase, expected: string): Promise<void> {
  const { rows } = await client.query<{ system: string }>(systemText);
  if (rows[0]!.system !== expected) throw notACopy();
}

async function shownBy(client: ClientBase): Promise<number> {
  try {
    return Number((await client.query<{ shown: string }>({ name: 'shown', text: shownText })).rows[0]!.shown);
  } catch (error) {
    throw isStaleTable(error) ? notACopy(error) : error;
  }
}

async function whyBehind(client: ClientBase): Promise<string> {
  const { rows } = await client.query<{ why: string }>(whyBehindText);
  return `the standby that answers reads is behind the primary database${rows[0]!.why}`;
}

function notACopy(cause?: unknown): StorageError {
  return new StorageError('Unavailable', 'the database of svc.database.read-url is no standby of the primary', {
    cause,
  });
}
