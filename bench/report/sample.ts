import { readCpuTime, type CpuTime, type MeasuredProcesses } from '../../test/system/harness/process/process-usage.ts';

/** The result of one window of load. */
export interface Sample {
  requests: number;
  seconds: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  errors: number;
  /** The message of the first error. */
  failure?: string;
  /** Processor milliseconds per request, of each process. */
  cpu: CpuTime & { loader: number };
}

/** Counts what ends between `open` and `close`. */
export class SampleRecorder {
  readonly #processes: MeasuredProcesses;
  #latencies: number[] = [];
  #errors = 0;
  #failure: string | undefined;
  #openedAt: number | undefined;
  #cpu: CpuTime = { server: 0, postgres: 0 };
  #own = process.cpuUsage();

  constructor(processes: MeasuredProcesses) {
    this.#processes = processes;
  }

  open(): void {
    this.#cpu = readCpuTime(this.#processes);
    this.#own = process.cpuUsage();
    this.#openedAt = performance.now();
  }

  add(latencyMs: number): void {
    if (this.#openedAt !== undefined) this.#latencies.push(latencyMs);
  }

  /** Errors count during the warm-up too. */
  fail(failure: string): void {
    this.#errors += 1;
    this.#failure ??= failure;
  }

  close(): Sample {
    const seconds = (performance.now() - (this.#openedAt ?? 0)) / 1000;
    const own = process.cpuUsage(this.#own);
    const cpu = readCpuTime(this.#processes);
    const sorted = Float64Array.from(this.#latencies).toSorted();
    const requests = sorted.length;
    const each = (ms: number): number => (requests === 0 ? 0 : ms / requests);
    return {
      requests,
      seconds,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      errors: this.#errors,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
      cpu: {
        server: each(cpu.server - this.#cpu.server),
        postgres: each(cpu.postgres - this.#cpu.postgres),
        loader: each((own.user + own.system) / 1000),
      },
    };
  }
}

/** A quantile of sorted values; 0 if there are none. */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}
