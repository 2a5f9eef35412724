import type { OutcomeJudge } from './oracles/judge-outcome.ts';
import type { StateDigest } from './oracles/state-digest.ts';
import type { Violation } from './violation.ts';

/** A period in which one task blocked the server's event loop. */
export interface Hold {
  /** CLOCK_MONOTONIC. Milliseconds. */
  began: number;
  ended: number;
  /** Its processor time, in milliseconds: excludes time that other processes took. */
  cpu: number;
}

/** The attacked server, as visible from outside. */
export interface FuzzTarget {
  readonly port: number;
  readonly token: string;
  /** Texts that no response may contain. */
  readonly secrets: readonly string[];
  readonly digest: StateDigest;
  /** Checks responses against the contract. */
  readonly judge: OutcomeJudge;
  call(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }>;
  /** A problem of the whole server: ended, or unresponsive on a new connection. */
  health(): Promise<Violation | undefined>;
  /** Log lines of level error since the last call. */
  takeErrors(): string[];
  /** Holds since the last call; empty if they are not measured. */
  takeHolds(): Promise<Hold[]>;
  /** Restarts the ended server; absent if that is impossible. */
  restart?(): Promise<void>;
}
