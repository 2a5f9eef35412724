import type { Pool } from 'pg';
import type { ReadRoom } from '../../read-room.ts';
import type { IdempotencyClaim, RememberedWrite } from '../../store.ts';
import { recallWrite, takenClaims } from './idempotency-claims.ts';

/** Claims asked for in one statement. */
const maxGroup = 256;

interface ClaimGroup {
  claims: IdempotencyClaim[];
  /** Positions of those that have been used. */
  taken: Promise<Set<number>>;
}

/**
 * Reads what claims led to. Nearly all have led to nothing yet: whether they have is asked for all of one turn of the
 * event loop together. What one led to may be large, and is read for itself.
 */
export class ClaimReader {
  readonly #pool: Pool;
  /** Takes claims until its turn is over. */
  #group: ClaimGroup | undefined;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async recall(claim: IdempotencyClaim, room?: ReadRoom): Promise<RememberedWrite | undefined> {
    if (this.#group === undefined || this.#group.claims.length === maxGroup) this.#group = this.#newGroup();
    const { claims, taken } = this.#group;
    const position = claims.push(claim) - 1;
    return (await taken).has(position) ? recallWrite(this.#pool, claim, room) : undefined;
  }

  #newGroup(): ClaimGroup {
    const claims: IdempotencyClaim[] = [];
    return { claims, taken: this.#look(claims) };
  }

  async #look(claims: readonly IdempotencyClaim[]): Promise<Set<number>> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#group?.claims === claims) this.#group = undefined;
    // Reading what one led to tells as well whether it led to anything.
    return claims.length === 1 ? new Set([0]) : takenClaims(this.#pool, claims);
  }
}
