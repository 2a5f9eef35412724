import { pause } from '#pkg/apimachinery/index';
import { HttpConnection, type Answer } from './http-connection.ts';
import { requestSource, type RequestPlan, type RequestSource } from './request-plan.ts';
import { quantile } from '../report/sample.ts';
import { serveJobs } from '../../test/system/harness/process/worker-process.ts';

/**
 * Requests that arrive independently of earlier ones (`ratePerSecond`, Poisson), or without a rate as fast as responses
 * allow. Every arrival is a separate client: it takes a free connection, or fails immediately if there is none.
 */
export interface OpenLoadJob {
  port: number;
  authorization: string;
  /** Connections opened before the first request. */
  connections: number;
  /** Used in turn. */
  plans: RequestPlan[];
  ratePerSecond?: number;
  warmUpSeconds: number;
  seconds: number;
}

/** Counts per second. Times start when a request was due; those of the warm-up do not count. */
export interface OpenLoadResult {
  offered: number;
  /** Successful responses within `patienceMs`. */
  good: number;
  late: number;
  /** Responses with 429. */
  refused: number;
  /** Arrivals without a free connection. */
  unsent: number;
  failed: number;
  /** The message of the first failure. */
  failure?: string;
  /** Latency of good responses. Milliseconds. */
  p50: number;
  p99: number;
}

/** A real client would have given up after this long. Milliseconds. */
export const timeoutMs = 1000;
/** How long to wait for the last responses. Milliseconds. */
const settleMs = 3000;

class OpenLoad {
  readonly #job: OpenLoadJob;
  readonly #sources: RequestSource[];
  #free: HttpConnection[] = [];
  #all: HttpConnection[] = [];
  #next = 0;
  #under = 0;
  #isCounting = false;
  #onFree = (): void => {};
  readonly #count = { offered: 0, good: 0, late: 0, refused: 0, unsent: 0, failed: 0 };
  readonly #latencies: number[] = [];
  #failure: string | undefined;

  constructor(job: OpenLoadJob) {
    this.#job = job;
    this.#sources = job.plans.map((plan) => requestSource(plan, job.authorization));
  }

  async run(): Promise<OpenLoadResult> {
    await this.#connect();
    try {
      const { warmUpSeconds, seconds } = this.#job;
      const start = performance.now();
      const counted = start + warmUpSeconds * 1000;
      const end = counted + seconds * 1000;
      await (this.#job.ratePerSecond === undefined
        ? this.#sendOnAnswer(counted, end)
        : this.#sendInTime(this.#job.ratePerSecond, { start, counted, end }));
      for (const settled = performance.now() + settleMs; this.#under > 0 && performance.now() < settled;)
        await pause(20);
      return this.#result();
    } finally {
      for (const connection of this.#all) connection.close();
    }
  }

  async #connect(): Promise<void> {
    // A few at a time, because the backlog of connections is limited.
    while (this.#all.length < this.#job.connections) {
      const some = Math.min(100, this.#job.connections - this.#all.length);
      this.#all.push(...(await Promise.all(Array.from({ length: some }, () => HttpConnection.open(this.#job.port)))));
    }
    this.#free = [...this.#all];
  }

  async #sendInTime(
    rate: number,
    { start, counted, end }: { start: number; counted: number; end: number },
  ): Promise<void> {
    for (let due = start; due < end;) {
      const now = performance.now();
      for (; due <= now && due < end; due += (-Math.log(1 - Math.random()) / rate) * 1000) {
        this.#isCounting = due >= counted;
        this.#arrive(due);
      }
      // Not sooner: to look all the time would take the processor that the server needs.
      await pause(1);
    }
  }

  async #sendOnAnswer(counted: number, end: number): Promise<void> {
    const again = (): void => {
      const now = performance.now();
      this.#isCounting = now >= counted;
      if (now < end) while (this.#free.length > 0) this.#arrive(now);
    };
    this.#onFree = again;
    again();
    await pause(end - performance.now());
    this.#onFree = () => {};
  }

  #arrive(due: number): void {
    const isCounted = this.#isCounting;
    if (isCounted) this.#count.offered += 1;
    const connection = this.#free.pop();
    if (connection === undefined) {
      if (isCounted) this.#count.unsent += 1;
      return;
    }
    const source = this.#sources[(this.#next += 1) % this.#sources.length]!;
    this.#under += 1;
    const onAnswer = (answer: Answer): void => {
      this.#under -= 1;
      this.#free.push(connection);
      if (isCounted) this.#record(answer, source.expectedStatus, performance.now() - due);
      this.#onFree();
    };
    const onFailure = (error: Error): void => {
      this.#under -= 1;
      this.#fail(error.message);
    };
    connection.send(source.next(0), onAnswer, onFailure);
  }

  #record(answer: Answer, expected: number, ms: number): void {
    if (answer.status === 429) this.#count.refused += 1;
    else if (answer.status !== expected) this.#fail(`${answer.status} ${answer.body.toString('utf8', 0, 300)}`);
    else if (ms > timeoutMs) this.#count.late += 1;
    else {
      this.#count.good += 1;
      this.#latencies.push(ms);
    }
  }

  #fail(failure: string): void {
    this.#count.failed += 1;
    this.#failure ??= failure;
  }

  #result(): OpenLoadResult {
    const { seconds } = this.#job;
    const { offered, good, late, refused, unsent, failed } = this.#count;
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    return {
      offered: offered / seconds,
      good: good / seconds,
      late: late / seconds,
      refused: refused / seconds,
      unsent: unsent / seconds,
      failed,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
    };
  }
}

serveJobs((job) => new OpenLoad(job).run());
