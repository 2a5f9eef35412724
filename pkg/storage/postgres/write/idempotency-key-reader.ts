import type { Pool } from 'pg';
import type { ReadBudget } from '../../read-budget.ts';
import type { IdempotencyKey, RememberedWrite } from '../../store.ts';
import { readRememberedWrite, usedIdempotencyKeys } from './idempotency-keys.ts';

/** Maximum number of idempotency keys per statement. */
const maxGroup = 256;

interface KeyGroup {
  idempotencyKeys: IdempotencyKey[];
  /** Positions of the used keys. */
  taken: Promise<Set<number>>;
}

/**
 * Reads the outcomes of idempotency keys. Nearly all keys are unused: one statement checks all keys of one turn of the
 * event loop. The outcome of a used key may be large, and is read separately.
 */
export class IdempotencyKeyReader {
  readonly #pool: Pool;
  /** Collects idempotency keys until the end of the turn. */
  #group: KeyGroup | undefined;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async findRememberedWrite(
    idempotencyKey: IdempotencyKey,
    readBudget?: ReadBudget,
  ): Promise<RememberedWrite | undefined> {
    if (this.#group === undefined || this.#group.idempotencyKeys.length === maxGroup) this.#group = this.#newGroup();
    const { idempotencyKeys, taken } = this.#group;
    const position = idempotencyKeys.push(idempotencyKey) - 1;
    return (await taken).has(position) ? readRememberedWrite(this.#pool, idempotencyKey, readBudget) : undefined;
  }

  #newGroup(): KeyGroup {
    const idempotencyKeys: IdempotencyKey[] = [];
    return { idempotencyKeys, taken: this.#look(idempotencyKeys) };
  }

  async #look(idempotencyKeys: readonly IdempotencyKey[]): Promise<Set<number>> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#group?.idempotencyKeys === idempotencyKeys) this.#group = undefined;
    // For a single key, reading the outcome also shows whether it was used.
    return idempotencyKeys.length === 1 ? new Set([0]) : usedIdempotencyKeys(this.#pool, idempotencyKeys);
  }
}
