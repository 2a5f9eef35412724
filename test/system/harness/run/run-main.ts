import { writeFileSync } from 'node:fs';

/** The result of a run. It failed if there is a failure. */
export interface Outcome {
  readonly passed: number;
  readonly failures: readonly string[];
  /** Number of failures, if it differs from the length of `failures`. */
  readonly failed?: number;
  /** Why nothing was tried. */
  readonly skipped?: string;
}

export interface MainOptions<Options extends object> {
  readonly usage: string;
  /** Throws an Error that describes the problem. `summaryFile` in the options is the path of the summary. */
  readonly parse: (args: string[]) => Options;
  /** Why it runs only on Linux. */
  readonly needsLinux?: string;
  /** Prints the result. Undefined if it only displayed something: no summary. */
  readonly run: (options: Options) => Promise<Outcome | undefined>;
}

/**
 * The body of a suite's `main.ts`: invalid options print the usage and exit with 2, a failed run with 1; `--summary`
 * names the file for `{ passed, failed, failures, skipped }`. The process exits even if something is still pending.
 */
export async function runMain<Options extends object>({
  usage,
  parse,
  needsLinux,
  run,
}: MainOptions<Options>): Promise<void> {
  let options: Options;
  try {
    options = parse(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    process.exit(2);
  }
  if (needsLinux !== undefined && process.platform !== 'linux') {
    process.stderr.write(`${needsLinux}\n`);
    process.exit(2);
  }
  const outcome = await run(options);
  if (outcome === undefined) return;
  const { passed, failures, failed = failures.length, skipped } = outcome;
  const { summaryFile } = options as { summaryFile?: string };
  if (summaryFile !== undefined) writeFileSync(summaryFile, JSON.stringify({ passed, failed, failures, skipped }));
  process.exit(failed === 0 ? 0 : 1);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** SIGINT or SIGTERM. */
export class InterruptedError extends Error {
  constructor() {
    super('interrupted');
    this.name = 'InterruptedError';
  }
}

/** The result of `work`; rejects on SIGINT and SIGTERM, so that the caller's `finally` stops what it started. */
export async function untilInterrupted<Result>(work: Promise<Result>): Promise<Result> {
  let interrupt!: () => void;
  const interrupted = new Promise<never>((_, reject) => {
    interrupt = () => reject(new InterruptedError());
  });
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, interrupt);
  try {
    return await Promise.race([work, interrupted]);
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}
