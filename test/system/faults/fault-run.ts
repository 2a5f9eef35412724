import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnreachable } from '#pkg/database/index';
import type { TestCluster } from './test-cluster.ts';
import { describeError } from '../harness/run/describe-error.ts';
import type { Fault, Heal } from './fault.ts';
import type { FaultRecord } from '../harness/history/history.ts';
import type { SeededRandom } from '../harness/seeded-random.ts';
import { now } from '../harness/history/instant.ts';
import type { OperationLog, Tally } from '../harness/workload/operation-log.ts';

const defaultHoldMs = 2000;
/** Longer than any request may take. Milliseconds. */
const recoveryLimitMs = 60_000;
const goodputWindowMs = 500;
/** Share of the rate before the first fault. */
const recoveredShare = 0.5;

export interface FaultOutcome {
  names: string;
  /** Since the start of the round. Seconds. */
  at: number;
  /** From the start of the fault until the rate is normal again. */
  tally: Tally;
  /** From the end of the fault until the rate is normal again; undefined if it never was. Seconds. */
  recovery?: number;
  skipped?: string;
  /** Faults whose connection another fault ended. */
  cutShort: string[];
  failures: string[];
}

export interface FaultRunOptions {
  cluster: TestCluster;
  random: SeededRandom;
  operationLog: OperationLog;
  records: FaultRecord[];
  /** Operations a second without faults. */
  normal: number;
  /** The start of the round. */
  began: number;
}

/** Runs one fault, or several at once, heals them, and waits until the rate is normal again. */
export async function runFaults(
  kinds: readonly Fault[],
  { cluster, random, operationLog, records, normal, began }: FaultRunOptions,
): Promise<FaultOutcome> {
  const outcome: FaultOutcome = {
    names: kinds.map(({ name }) => name).join(' + '),
    at: (now() - began) / 1000,
    tally: { ok: 0, refused: 0, unknown: 0 },
    cutShort: [],
    failures: [],
  };
  const skipped = kinds.flatMap(({ unavailable }) => unavailable?.(cluster) ?? []);
  if (skipped.length > 0) return { ...outcome, skipped: skipped.join(', ') };
  operationLog.takeTally();
  const note =
    (name: string) =>
    (error: unknown): void => {
      const place = kinds.length > 1 && isDatabaseUnreachable(error) ? outcome.cutShort : outcome.failures;
      place.push(`${name}: ${describeError(error)}`);
    };
  await Promise.all(
    kinds.map(async (fault) => {
      const record: FaultRecord = { name: fault.name, started: now() };
      records.push(record);
      const heal: Heal | void = await fault
        .inject(cluster, random.fork(`${fault.name} ${outcome.at}`))
        .catch(note(fault.name));
      await delay(fault.holdMs ?? defaultHoldMs);
      await Promise.resolve(heal?.()).catch(note(fault.name));
      record.ended = now();
    }),
  );
  const healed = now();
  while (now() - healed < recoveryLimitMs) {
    await delay(50);
    if (now() - healed >= goodputWindowMs && operationLog.goodput(goodputWindowMs) >= normal * recoveredShare) {
      return {
        ...outcome,
        tally: operationLog.takeTally(),
        recovery: Math.max(0, (now() - healed - goodputWindowMs) / 1000),
      };
    }
  }
  outcome.failures.push(`${outcome.names}: work did not recover within ${recoveryLimitMs / 1000} s`);
  return { ...outcome, tally: operationLog.takeTally() };
}
