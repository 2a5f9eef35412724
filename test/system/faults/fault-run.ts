import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseAway } from '#pkg/database/index';
import type { Arena } from './arena.ts';
import type { Fault, Heal } from './fault.ts';
import type { FaultRecord } from './history.ts';
import type { Random } from './random.ts';
import { now } from './workload/instant.ts';
import type { OperationBook, Tally } from './workload/operation-book.ts';

const defaultHoldMs = 2000;
/** Longer than any request may take. */
const recoveryLimitMs = 60_000;
const goodputWindowMs = 500;
/** Of the rate before the first fault. */
const recoveredShare = 0.5;

export interface FaultOutcome {
  names: string;
  /** Since the beginning of the round. Seconds. */
  at: number;
  /** From its beginning to the normal rate. */
  tally: Tally;
  /** From its end to the normal rate; undefined if that never came. Seconds. */
  recovery?: number;
  skipped?: string;
  /** Faults whose connection the other one ended. */
  cutShort: string[];
  failures: string[];
}

export interface FaultRunOptions {
  arena: Arena;
  random: Random;
  book: OperationBook;
  records: FaultRecord[];
  /** Operations a second when nothing is wrong. */
  normal: number;
  /** The beginning of the round. */
  began: number;
}

/** Does one fault, or several at once, heals them, and waits until work goes on as before. */
export async function runFaults(
  kinds: readonly Fault[],
  { arena, random, book, records, normal, began }: FaultRunOptions,
): Promise<FaultOutcome> {
  const outcome: FaultOutcome = {
    names: kinds.map(({ name }) => name).join(' + '),
    at: (now() - began) / 1000,
    tally: { ok: 0, refused: 0, unknown: 0 },
    cutShort: [],
    failures: [],
  };
  const skipped = kinds.flatMap(({ unavailable }) => unavailable?.(arena) ?? []);
  if (skipped.length > 0) return { ...outcome, skipped: skipped.join(', ') };
  book.takeTally();
  const note =
    (name: string) =>
    (error: unknown): void => {
      const place = kinds.length > 1 && isDatabaseAway(error) ? outcome.cutShort : outcome.failures;
      place.push(`${name}: ${describe(error)}`);
    };
  await Promise.all(
    kinds.map(async (fault) => {
      const record: FaultRecord = { name: fault.name, started: now() };
      records.push(record);
      const heal: Heal | void = await fault
        .inject(arena, random.fork(`${fault.name} ${outcome.at}`))
        .catch(note(fault.name));
      await delay(fault.holdMs ?? defaultHoldMs);
      await Promise.resolve(heal?.()).catch(note(fault.name));
      record.ended = now();
    }),
  );
  const healed = now();
  while (now() - healed < recoveryLimitMs) {
    await delay(50);
    if (now() - healed >= goodputWindowMs && book.goodput(goodputWindowMs) >= normal * recoveredShare) {
      return { ...outcome, tally: book.takeTally(), recovery: Math.max(0, (now() - healed - goodputWindowMs) / 1000) };
    }
  }
  outcome.failures.push(`${outcome.names}: work did not go on as before within ${recoveryLimitMs / 1000} s`);
  return { ...outcome, tally: book.takeTally() };
}

/** An error and what it came from. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`;
}
