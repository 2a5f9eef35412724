import { caseAt, type CaseSource } from './case-at.ts';
import type { FuzzCase } from './fuzz-case.ts';
import { FuzzReport } from './fuzz-report.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { HoldCheck } from './hold-check.ts';
import { runCase, type CaseContext, type CaseRun, type CompletedCase } from './run-case.ts';
import { shrinkCase } from './shrink-case.ts';
import { violation, type Violation } from './violation.ts';
import { showRequest } from '../harness/wire/encode-request.ts';
import { WireClient } from '../harness/wire/wire-client.ts';
import type { FuzzTargets } from './fuzz-targets.ts';

/**
 * How the cases of a batch run: concurrently; concurrently, only those that change nothing; one by one, comparing the
 * state before and after each.
 */
export type BatchMode = 'free' | 'quiet' | 'exclusive';

export interface FuzzRunOptions<W = FuzzTargets> extends CaseSource<W> {
  target: FuzzTarget;
  concurrency: number;
  /** Whether to send cases that test timeouts; `finish` then waits for them. */
  slow: boolean;
  /** Timeout of a response. Milliseconds, default 45 s: a request may take 30. */
  limitMs?: number;
}

/** Sends cases by number, in batches, and checks the server after each batch. */
export class FuzzRun<W = FuzzTargets> {
  readonly report = new FuzzReport();
  readonly #options: FuzzRunOptions<W>;
  readonly #client: WireClient;
  readonly #holds: HoldCheck;
  readonly #slow = new Set<Promise<void>>();
  #next = 0;
  #ended = false;

  constructor(options: FuzzRunOptions<W>) {
    this.#options = options;
    const { port, token } = options.target;
    this.#client = new WireClient({ port, token, limitMs: options.limitMs ?? 45_000, slowLimitMs: 110_000 });
    this.#holds = new HoldCheck(options.target, (fuzzCase) => this.#run(fuzzCase));
  }

  /**
   * Runs the next `count` cases, or fewer until `deadline`. Ends early, and for good, if the server has ended and
   * cannot be restarted.
   */
  async batch(mode: BatchMode, count: number, deadline = Infinity): Promise<void> {
    if (this.#ended) return;
    const { digest } = this.#options.target;
    const before = mode === 'quiet' ? await digest.settled() : undefined;
    if (mode === 'exclusive') await digest.settled();
    const ran: CompletedCase[] = [];
    const last = this.#next + count;
    const work = async (): Promise<void> => {
      while (this.#next < last && !this.#ended && Date.now() < deadline) await this.#one(this.#next++, mode, ran);
    };
    await Promise.all(Array.from({ length: mode === 'exclusive' ? 1 : this.#options.concurrency }, work));
    if (before !== undefined && (await digest.settled()).own !== before.own) await this.#findWriter(ran);
    await this.#afterBatch(ran);
  }

  /** Runs one case alone with all checks; returns its result. */
  async single(number: number): Promise<CaseRun> {
    const fuzzCase = caseAt(number, this.#options);
    const run = await this.#run(fuzzCase, { digest: this.#options.target.digest });
    this.report.count(fuzzCase, run);
    if (run.found !== undefined) await this.#record(number, fuzzCase, run.found, false);
    await this.#afterBatch([ranAs(number, fuzzCase, run)]);
    return run;
  }

  async finish(): Promise<FuzzReport> {
    await Promise.all(this.#slow);
    await this.#afterBatch([]);
    this.#client.close();
    return this.report;
  }

  #run(fuzzCase: FuzzCase, more: Pick<CaseContext, 'digest'> = {}): Promise<CaseRun> {
    const { secrets, judge } = this.#options.target;
    return runCase(fuzzCase, { client: this.#client, secrets, judge, ...more });
  }

  async #one(number: number, mode: BatchMode, ran: CompletedCase[]): Promise<void> {
    const fuzzCase = caseAt(number, this.#options);
    if (mode === 'quiet' && fuzzCase.changes !== 'never') return;
    if (fuzzCase.slow === true) {
      if (mode === 'free' && this.#options.slow) this.#startSlow(number, fuzzCase);
      return;
    }
    const run = await this.#run(fuzzCase, mode === 'exclusive' ? { digest: this.#options.target.digest } : {});
    this.report.count(fuzzCase, run);
    ran.push(ranAs(number, fuzzCase, run));
    if (run.found === undefined) return;
    const isFatal =
      run.found.rule === 'server gone' ||
      (run.found.rule === 'no answer' && (await this.#options.target.health()) !== undefined);
    if (isFatal) this.#ended = true;
    else await this.#record(number, fuzzCase, run.found, mode === 'exclusive');
  }

  #startSlow(number: number, fuzzCase: FuzzCase): void {
    if (this.#slow.size >= 200) return;
    const run = async (): Promise<void> => {
      const ran = await this.#run(fuzzCase);
      this.report.count(fuzzCase, ran);
      if (ran.found !== undefined && !this.#ended) await this.#record(number, fuzzCase, ran.found, false);
      this.#slow.delete(done);
    };
    const done = run();
    this.#slow.add(done);
  }

  /** An area's own check holds only for its exact case; violations of other rules are reduced to a smaller case. */
  async #record(number: number, fuzzCase: FuzzCase, found: Violation, exclusive: boolean): Promise<void> {
    if (!this.report.isNew(fuzzCase.area, found)) return;
    this.report.add({ area: fuzzCase.area, number, ...found, replay: showCase(fuzzCase) });
    if (found.rule === 'wrong answer' || fuzzCase.slow === true) return;
    const fails = async (candidate: FuzzCase): Promise<boolean> => {
      const run = await this.#run(candidate, exclusive ? { digest: this.#options.target.digest } : {});
      return run.found?.rule === found.rule;
    };
    const { judge: _, ...judged } = fuzzCase;
    this.report.add({ area: fuzzCase.area, number, ...found, replay: showCase(await shrinkCase(judged, fails)) });
  }

  /** Finds the case that changed something although it must not. */
  async #findWriter(ran: readonly CompletedCase[]): Promise<void> {
    for (const { number, fuzzCase } of ran) {
      const { found } = await this.#run(fuzzCase, { digest: this.#options.target.digest });
      if (found?.rule === 'state changed') return this.#record(number, fuzzCase, found, true);
    }
    this.#recordGlobal(violation('state changed', 'by requests that must not change it; none of them does so alone'));
  }

  async #afterBatch(ran: readonly CompletedCase[]): Promise<void> {
    const { target } = this.#options;
    const problem = await target.health();
    if (problem !== undefined) await this.#bringBack(problem, ran);
    for (const line of target.takeErrors()) this.#recordGlobal(violation('server log', line.slice(0, 2000)));
    if (this.#ended) return;
    for (const {
      ran: { number, fuzzCase },
      cpu,
      at,
    } of await this.#holds.check(ran)) {
      this.report.held(fuzzCase.area, cpu);
      const found = violation('event loop blocked', `for ${Math.round(cpu)} ms of processor time`);
      if (this.report.isNew(fuzzCase.area, found))
        this.report.add({ area: fuzzCase.area, number, ...found, replay: showRequest(fuzzCase.requests[at]!) });
    }
  }

  async #bringBack(problem: Violation, ran: readonly CompletedCase[]): Promise<void> {
    const { target } = this.#options;
    this.#ended = true;
    // The requests that ended last are the most likely cause.
    const suspects = ran.toSorted((a, b) => b.ended - a.ended).slice(0, this.#options.concurrency * 2);
    if (target.restart === undefined) return this.#recordGlobal(problem);
    for (const { number, fuzzCase } of suspects) {
      if ((await target.health()) !== undefined) await target.restart();
      await this.#run(fuzzCase);
      const again = await target.health();
      if (again === undefined) continue;
      this.report.add({ area: fuzzCase.area, number, ...again, replay: showCase(fuzzCase) });
      await target.restart();
      this.#ended = false;
      return;
    }
    this.#recordGlobal(problem);
    if ((await target.health()) !== undefined) await target.restart();
    this.#ended = false;
  }

  #recordGlobal(found: Violation): void {
    if (this.report.isNew('the server', found)) this.report.add({ area: 'the server', ...found, replay: '' });
  }
}

function ranAs(number: number, fuzzCase: FuzzCase, { outcomes }: CaseRun): CompletedCase {
  const sent = fuzzCase.requests.map(
    ({ target, body, raw = [] }) =>
      target.length + (body?.length ?? 0) + raw.reduce((sum, { length }) => sum + length, 0),
  );
  const received = outcomes.flatMap(({ answers }) => answers.map(({ body }) => body.length));
  return {
    number,
    fuzzCase,
    began: outcomes[0]?.began ?? 0,
    ended: outcomes.at(-1)?.ended ?? 0,
    bytes: [...sent, ...received].reduce((sum, size) => sum + size, 0),
  };
}

export function showCase({ requests }: FuzzCase): string {
  return requests.map((request) => `    ${showRequest(request)}`).join('\n');
}
