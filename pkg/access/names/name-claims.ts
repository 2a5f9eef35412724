import { sql } from 'kysely';
import type { Logger } from 'pino';
import { runQuery, type Queryable } from '#pkg/database/index';
import { isDuplicate, lockUntilCommit, type AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import { newFieldErrors } from '../http/access-error.ts';
import { confusablesVersion } from './confusables-data.ts';
import { skeletonKeys } from './skeleton.ts';

const batchSize = 200;
/** Lets one process at a time claim existing names. */
const lockName = 'svc access.names';
/** Maximum number of pairs that one process logs. */
const maxLoggedPairs = 1000;

const kinds = {
  user: { table: 'users', nameColumn: 'username', since: 'date_joined', claims: 'username_skeletons' },
  organization: { table: 'organizations', nameColumn: 'name', since: 'date_created', claims: 'organization_skeletons' },
} as const;

export type NameKind = keyof typeof kinds;

interface NamedRow {
  id: string;
  name: string;
  /** Time of creation, in PostgreSQL's text format. */
  since: string;
}

/**
 * Prevents names that look alike: each name claims its skeletons, in rows that PostgreSQL keeps unique, so that only
 * one of two concurrent lookalikes is created. Existing names, and those that a replica of the previous version
 * creates, get their claims later; of two existing lookalikes the older one gets them, both stay, and the log reports
 * the pair.
 */
export class NameClaims {
  readonly #database: AccessDatabase;
  readonly #log: Logger;
  readonly #logged = new Set<string>();
  #prepared: Promise<void> | undefined;
  #round: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #isStopping = false;

  constructor({ database, log }: { database: AccessDatabase; log: Logger }) {
    this.#database = database;
    this.#log = log;
  }

  /** Resolves when existing names have their claims; call it before the transaction that creates a name. */
  prepare(): Promise<void> {
    this.#prepared ??= this.adopt().catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }

  /** Adds the claims of names that have none, or only those of an earlier name or version of the data. */
  adopt(): Promise<void> {
    const next = this.#round.then(() => this.#adoptAll());
    this.#round = next.catch(() => undefined);
    return next;
  }

  /**
   * Call it after a name was deleted or changed: an existing lookalike gets its claims before a new name can. Never
   * rejects.
   */
  async adoptAfterRelease(): Promise<void> {
    // One round, which begins after all of them, serves several concurrent calls.
    this.#next ??= this.#round.then(() => {
      this.#next = undefined;
      return this.adopt();
    });
    await this.#next.catch((error: unknown) =>
      this.#log.warn({ err: error }, 'could not compare names; the next round retries'),
    );
  }

  /** Starts no further batch. Never rejects. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#round;
  }

  /** Call it in the transaction that creates or changes the name. Throws 400 by field if another name looks like it. */
  async claim(kind: NameKind, { id, name }: { id: string; name: string }, on: Queryable): Promise<void> {
    const { claims, nameColumn } = kinds[kind];
    const release = accessQuery.deleteFrom(`access.${claims}`).where('owner', '=', id);
    await runQuery(on, release, `${claims}-release`);
    const skeletons = accessQuery.selectNoFrom((eb) => [
      sql<Buffer>`unnest(${skeletonKeys(name)}::bytea[])`.as('skeleton'),
      eb.val(id).as('owner'),
      eb.val(madeOf(name)).as('made_of'),
    ]);
    const insert = accessQuery
      .insertInto(`access.${claims}`)
      .columns(['skeleton', 'owner', 'made_of'])
      .expression(skeletons);
    try {
      await runQuery(on, insert, `${claims}-claim`);
    } catch (error) {
      if (isDuplicate(error)) throw newFieldErrors({ [nameColumn]: ['This looks like a name that is taken.'] });
      throw error;
    }
  }

  async #adoptAll(): Promise<void> {
    for (const kind of Object.keys(kinds) as NameKind[]) {
      let after: NamedRow | undefined;
      do {
        if (this.#isStopping) return;
        after = await this.#adoptBatch(kind, after);
      } while (after !== undefined);
    }
  }

  /** Returns the last row of a full batch. */
  #adoptBatch(kind: NameKind, after: NamedRow | undefined): Promise<NamedRow | undefined> {
    const { table, nameColumn, since, claims } = kinds[kind];
    return this.#database.transaction(async (on) => {
      await lockUntilCommit(on, lockName);
      const nameRef = sql.ref<string>(`t.${nameColumn}`);
      const madeAt = sql.ref<Date>(`t.${since}`);
      const unclaimed = accessQuery
        .selectFrom(accessQuery.dynamic.table(`access.${table}`).as('t'))
        .select(['t.id', nameRef.as('name'), sql<string>`${madeAt}::text`.as('since')])
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom(accessQuery.dynamic.table(`access.${claims}`).as('c'))
                .select('c.skeleton')
                .whereRef('c.owner', '=', 't.id')
                .where('c.made_of', '=', sql<string>`${madeOf('')} || ${nameRef}`),
            ),
          ),
        )
        .$if(after !== undefined, (rest) =>
          rest.where(sql<boolean>`(${madeAt}, t.id) > (${after?.since}::timestamptz, ${after?.id}::uuid)`),
        )
        .orderBy(madeAt)
        .orderBy('t.id')
        .limit(batchSize)
        // Locked rows wait for the next round; the selected ones cannot be deleted meanwhile.
        .forKeyShare('t')
        .skipLocked();
      const { rows } = await runQuery(on, unclaimed);
      if (rows.length === 0) return undefined;
      const release = accessQuery.deleteFrom(`access.${claims}`);
      await runQuery(
        on,
        release.where((eb) => eb('owner', '=', eb.fn.any(eb.val(rows.map(({ id }) => id))))),
      );
      const wanted = rows.flatMap(({ id, name }) =>
        skeletonKeys(name).map((key) => ({ key, id, madeOf: madeOf(name) })),
      );
      const asked = sql`unnest(${wanted.map(({ key }) => key)}::bytea[], ${wanted.map((row) => row.id)}::uuid[],
        ${wanted.map((row) => row.madeOf)}::text[]) WITH ORDINALITY a (skeleton, owner, made_of, position)`;
      const claimTable = sql.table(`access.${claims}`);
      // In the same order as in `claim`, to avoid deadlocks.
      await runQuery(
        on,
        sql`INSERT INTO ${claimTable} (skeleton, owner, made_of)
          SELECT DISTINCT ON (skeleton) skeleton, owner, made_of FROM ${asked} ORDER BY skeleton, position ON CONFLICT DO NOTHING`,
      );
      const { rows: pairs } = await runQuery(
        on,
        sql<{ id: string; name: string; like: string }>`
          SELECT DISTINCT t.id, ${nameRef} AS name, ${sql.ref(`h.${nameColumn}`)} AS "like" FROM ${asked}
          JOIN ${claimTable} c ON c.skeleton = a.skeleton AND c.owner <> a.owner
          JOIN ${sql.table(`access.${table}`)} t ON t.id = a.owner JOIN ${sql.table(`access.${table}`)} h ON h.id = c.owner
          ORDER BY 2, 3`,
      );
      // Who has a part of their claims alone is looked at again.
      const doubt = accessQuery.updateTable(`access.${claims}`).set({ made_of: '' });
      await runQuery(
        on,
        doubt.where((eb) => eb('owner', '=', eb.fn.any(eb.val(pairs.map(({ id }) => id))))),
      );
      for (const pair of pairs) this.#logPair(kind, pair);
      return rows.length < batchSize ? undefined : rows.at(-1);
    });
  }

  #logPair(kind: NameKind, { name, like }: { name: string; like: string }): void {
    const pair = `${kind}\n${name}\n${like}`;
    if (this.#logged.has(pair) || this.#logged.size >= maxLoggedPairs) return;
    this.#logged.add(pair);
    this.#log.warn({ kind, name, like }, 'two names look alike; both existed before and are kept');
  }
}

/** A claim depends on the name and the version of the Unicode data. */
function madeOf(name: string): string {
  return `${confusablesVersion} ${name}`;
}
