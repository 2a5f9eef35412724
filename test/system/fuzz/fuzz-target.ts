import type { OutcomeJudge } from './oracles/judge-outcome.ts';
import type { StateDigest } from './oracles/state-digest.ts';
import type { Violation } from './violation.ts';

/** A time for which the server's event loop did nothing else. */
export interface Hold {
  /** CLOCK_MONOTONIC, milliseconds. */
  began: number;
  ended: number;
  /** Processor time of it, milliseconds: what a busy machine took away is not in it. */
  cpu: number;
}

/** The server under attack, as far as it can be looked into from outside. */
export interface FuzzTarget {
  readonly port: number;
  readonly token: string;
  /** Texts that no answer may hold. */
  readonly secrets: readonly string[];
  readonly digest: StateDigest;
  /** What its contract says of answers. */
  readonly judge: OutcomeJudge;
  call(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }>;
  /** What is wrong with the server as a whole: gone, or deaf on a connection of its own. */
  health(): Promise<Violation | undefined>;
  /** Lines logged as errors since the last call. */
  takeErrors(): string[];
  /** Holds since the last call; none where they are not measured. */
  takeHolds(): Promise<Hold[]>;
  /** After it has gone; absent where that cannot be mended. */
  restart?(): Promise<void>;
}
