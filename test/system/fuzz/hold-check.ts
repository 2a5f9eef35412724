import { processorSlowness } from '../../../hack/jest/processor-slowness.ts';
import type { FuzzCase } from './fuzz-case.ts';
import type { FuzzTarget, Hold } from './fuzz-target.ts';
import type { CaseRun, CompletedCase } from './run-case.ts';

/**
 * The longest allowed hold, in milliseconds of processor time, including the meter's overhead; scaled to the processor.
 */
const defaultAllowedMs = (100 + 8) * processorSlowness();
const repetitions = 3;
/** Suspects for each hold, the largest first, and after each batch. */
const suspectsEach = 6;
const suspectsInAll = 60;

export interface ProvenHold {
  ran: CompletedCase;
  /** The shortest of all repetitions. Milliseconds. */
  cpu: number;
  /** The index of the request in the case. */
  at: number;
}

/**
 * Finds the request that blocked the event loop. A hold among many requests may be their sum, or the engine's own work:
 * each concurrent request is repeated alone, and is guilty only if it blocks the loop every time.
 */
export class HoldCheck {
  readonly #target: FuzzTarget;
  readonly #run: (fuzzCase: FuzzCase) => Promise<CaseRun>;
  readonly #isLong: (hold: Hold) => boolean;

  constructor(target: FuzzTarget, run: (fuzzCase: FuzzCase) => Promise<CaseRun>, allowedMs = defaultAllowedMs) {
    this.#target = target;
    this.#run = run;
    this.#isLong = ({ cpu }) => cpu > allowedMs;
  }

  async check(ran: readonly CompletedCase[]): Promise<ProvenHold[]> {
    const holds = (await this.#target.takeHolds()).filter(this.#isLong);
    if (holds.length === 0) return [];
    const bySize = ran.toSorted((a, b) => b.bytes - a.bytes);
    const underWay = holds
      .toSorted((a, b) => b.cpu - a.cpu)
      .flatMap((hold) =>
        bySize.filter(({ began, ended }) => began < hold.ended && ended > hold.began).slice(0, suspectsEach),
      );
    const suspects = [...new Set(underWay)].slice(0, suspectsInAll);
    const proven: ProvenHold[] = [];
    for (const suspect of suspects) {
      const found = await this.#prove(suspect);
      if (found !== undefined) proven.push(found);
    }
    return proven;
  }

  async #prove(ran: CompletedCase): Promise<ProvenHold | undefined> {
    let cpu = Infinity;
    let at = 0;
    for (let i = 0; i < repetitions; i += 1) {
      const { outcomes } = await this.#run(ran.fuzzCase);
      const [longest] = (await this.#target.takeHolds()).filter(this.#isLong).toSorted((a, b) => b.cpu - a.cpu);
      if (longest === undefined) return undefined;
      cpu = Math.min(cpu, longest.cpu);
      at = Math.max(
        0,
        outcomes.findIndex(({ began, ended }) => began < longest.ended && ended > longest.began),
      );
    }
    return { ran, cpu, at };
  }
}
