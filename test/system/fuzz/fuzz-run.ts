import { caseAt, type CaseSource } from './case-at.ts';
import type { FuzzCase } from './fuzz-case.ts';
import { FuzzReport } from './fuzz-report.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { HoldCheck } from './hold-check.ts';
import { runCase, type CaseContext, type CaseRun, type Ran } from './run-case.ts';
import { shrinkCase } from './shrink-case.ts';
import { violation, type Violation } from './violation.ts';
import { showRequest } from '../harness/wire/encode-request.ts';
import { WireClient } from '../harness/wire/wire-client.ts';
import type { World } from './world.ts';

/**
 * How the cases of a batch run: side by side; side by side and only those that change nothing; one by one, the state
 * compared around each.
 */
export type BatchMode = 'free' | 'quiet' | 'exclusive';

export interface FuzzRunOptions<W = World> extends CaseSource<W> {
  target: FuzzTarget;
  concurrency: number;
  /** Whether cases that try time limits are sent; `finish` then waits for them. */
  slow: boolean;
  /** For an answer, milliseconds. Default 45 s: a request may take 30. */
  limitMs?: number;
}

/** Sends cases by their numbers, in batches, and looks after each whether the server is what it was. */
export class FuzzRun<W = World> {
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
   * Runs the next `count` cases, or as many as there is time for until `deadline`. Ends early, for good, where the
   * server is gone and cannot be brought back.
   */
  async batch(mode: BatchMode, count: number, deadline = Infinity): Promise<void> {
    if (this.#ended) return;
    const { digest } = this.#options.target;
    const before = mode === 'quiet' ? await digest.settled() : undefined;
    if (mode === 'exclusive') await digest.settled();
    const ran: Ran[] = [];
    const last = this.#next + count;
    const work = async (): Promise<void> => {
      while (this.#next < last && !this.#ended && Date.now() < deadline) await this.#one(this.#next++, mode, ran);
    };
    await Promise.all(Array.from({ length: mode === 'exclusive' ? 1 : this.#options.concurrency }, work));
    if (before !== undefined && (await digest.settled()).own !== before.own) await this.#findWriter(ran);
    await this.#afterBatch(ran);
  }

  /** One case by itself, with everything that can be looked at; answers what it did. */
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

  async #one(number: number, mode: BatchMode, ran: Ran[]): Promise<void> {
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

  /** A judgement that an area makes about its own case holds for that case only; all others allow a smaller one. */
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

  /** Of cases that were to change nothing, and did. */
  async #findWriter(ran: readonly Ran[]): Promise<void> {
    for (const { number, fuzzCase } of ran) {
      const { found } = await this.#run(fuzzCase, { digest: this.#options.target.digest });
      if (found?.rule === 'state changed') return this.#record(number, fuzzCase, found, true);
    }
    this.#recordGlobal(violation('state changed', 'by requests that may change nothing; none of them does so alone'));
  }

  async #afterBatch(ran: readonly Ran[]): Promise<void> {
    const { target } = this.#options;
    const ill = await target.health();
    if (ill !== undefined) await this.#bringBack(ill, ran);
    for (const line of target.takeErrors()) this.#recordGlobal(violation('server log', line.slice(0, 2000)));
    if (this.#ended) return;
    for (const {
      ran: { number, fuzzCase },
      cpu,
      at,
    } of await this.#holds.check(ran)) {
      this.report.held(fuzzCase.area, cpu);
      const found = violation('event loop held', `for ${Math.round(cpu)} ms of processor time`);
      if (this.report.isNew(fuzzCase.area, found))
        this.report.add({ area: fuzzCase.area, number, ...found, replay: showRequest(fuzzCase.requests[at]!) });
    }
  }

  async #bringBack(ill: Violation, ran: readonly Ran[]): Promise<void> {
    const { target } = this.#options;
    this.#ended = true;
    // What was under way at the end is what may have caused it.
    const suspects = ran.toSorted((a, b) => b.ended - a.ended).slice(0, this.#options.concurrency * 2);
    if (target.restart === undefined) return this.#recordGlobal(ill);
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
    this.#recordGlobal(ill);
    if ((await target.health()) !== undefined) await target.restart();
    this.#ended = false;
  }

  #recordGlobal(found: Violation): void {
    if (this.report.isNew('the server', found)) this.report.add({ area: 'the server', ...found, replay: '' });
  }
}

function ranAs(number: number, fuzzCase: FuzzCase, { outcomes }: CaseRun): Ran {
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
