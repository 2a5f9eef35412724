import type { Pool } from 'pg';
import type { ReadRoom } from '../../read-room.ts';
import type { IdempotencyKey, RememberedWrite } from '../../store.ts';
import { readRememberedWrite, usedIdempotencyKeys } from './idempotency-keys.ts';

/** Idempotency keys asked for in one statement. */
const maxGroup = 256;

interface KeyGroup {
  idempotencyKeys: IdempotencyKey[];
  /** Positions of those that have been used. */
  taken: Promise<Set<number>>;
}

/**
 * Reads what idempotency keys led to. Nearly all have led to nothing yet: whether they have is asked for all of one turn of the
 * event loop together. What one led to may be large, and is read for itself.
 */
export class IdempotencyKeyReader {
  readonly #pool: Pool;
  /** Takes idempotency keys until its turn is over. */
  #group: KeyGroup | undefined;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async recall(idempotencyKey: IdempotencyKey, room?: ReadRoom): Promise<RememberedWrite | undefined> {
    if (this.#group === undefined || this.#group.idempotencyKeys.length === maxGroup) this.#group = this.#newGroup();
    const { idempotencyKeys, taken } = this.#group;
    const position = idempotencyKeys.push(idempotencyKey) - 1;
    return (await taken).has(position) ? readRememberedWrite(this.#pool, idempotencyKey, room) : undefined;
  }

  #newGroup(): KeyGroup {
    const idempotencyKeys: IdempotencyKey[] = [];
    return { idempotencyKeys, taken: this.#look(idempotencyKeys) };
  }

  async #look(idempotencyKeys: readonly IdempotencyKey[]): Promise<Set<number>> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#group?.idempotencyKeys === idempotencyKeys) this.#group = undefined;
    // Reading what one led to tells as well whether it led to anything.
    return idempotencyKeys.length === 1 ? new Set([0]) : usedIdempotencyKeys(this.#pool, idempotencyKeys);
  }
}
