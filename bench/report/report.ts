import { writeFileSync } from 'node:fs';
import { rateOf, type ComparedContender, type Spread } from './comparison.ts';
import type { CpuTime } from '../../test/system/harness/process/process-usage.ts';
import { number, table } from '../../test/system/harness/run/table.ts';

/** One line of the table; figures that were not measured are absent. */
export interface Figure {
  scenario: string;
  who: string;
  /** Responses per second, unless `unit` says otherwise. */
  perSecond?: number;
  unit?: string;
  /** The ratio of the scenario's first line to this one. */
  ratio?: Spread;
  /** Milliseconds. */
  p50?: number;
  p99?: number;
  /** Processor milliseconds per request. */
  cpu?: CpuTime & { loader: number };
  note?: string;
}

/** A goal and its result. Informational: no run fails for being slow. */
export interface Goal {
  goal: string;
  wanted: string;
  measured: string;
  met: boolean;
}

const header = [
  'scenario',
  'who',
  'per second',
  'first line / it (min..max)',
  'p50 / p99 ms',
  'CPU µs each: server, PostgreSQL, loader; and remarks',
];

/** Collects the results of the scenarios, and whether any response was wrong. */
export class Report {
  readonly #facts: [string, string][] = [];
  readonly #figures: Figure[] = [];
  readonly #goals: Goal[] = [];
  readonly #failures: string[] = [];
  readonly #tell: (line: string) => void;

  /** `tell` gets each line immediately. */
  constructor(tell: (line: string) => void = () => undefined) {
    this.#tell = tell;
  }

  get failed(): boolean {
    return this.#failures.length > 0;
  }

  fact(name: string, value: string): void {
    this.#facts.push([name, value]);
  }

  compared(scenario: string, contenders: readonly ComparedContender[]): void {
    for (const { name, sample, ratio } of contenders) {
      const { p50, p99, cpu } = sample;
      this.figure({
        scenario,
        who: name,
        perSecond: rateOf(sample),
        p50,
        p99,
        cpu,
        ...(ratio === undefined ? {} : { ratio }),
      });
      if (sample.errors > 0)
        this.fail(`${scenario}, ${name}: ${sample.errors} errors, the first: ${sample.failure ?? ''}`);
    }
  }

  figure(figure: Figure): void {
    this.#figures.push(figure);
    this.#tell(
      cells(figure)
        .filter((cell) => cell !== '')
        .join(' | '),
    );
  }

  goal(goal: Goal): void {
    this.#goals.push(goal);
  }

  fail(failure: string): void {
    this.#failures.push(failure);
    this.#tell(`FAILED ${failure}`);
  }

  /** All results as numbers; times in milliseconds. */
  writeJson(file: string): void {
    writeFileSync(
      file,
      `${JSON.stringify({ facts: Object.fromEntries(this.#facts), figures: this.#figures, goals: this.#goals, failures: this.#failures }, null, 2)}\n`,
    );
  }

  toString(): string {
    const facts = this.#facts.map(([name, value]) => `${`${name}:`.padEnd(12)} ${value}`);
    const rows = this.#figures.map((figure, i) =>
      this.#figures[i - 1]?.scenario === figure.scenario ? cells({ ...figure, scenario: '' }) : cells(figure),
    );
    const goals = this.#goals.map(({ goal, wanted, measured, met }) => [
      goal,
      wanted,
      measured,
      met ? 'met' : 'NOT met',
    ]);
    const verdict = goals.length === 0 ? [] : ['', table([['goal', 'wanted', 'measured', ''], ...goals])];
    const failures = this.#failures.map((failure) => `FAILED ${failure}`);
    return [...facts, '', table([header, ...rows]), ...verdict, '', ...failures].join('\n');
  }
}

function cells({ scenario, who, perSecond, unit, ratio, p50, p99, cpu, note }: Figure): string[] {
  const each =
    cpu === undefined ? undefined : [cpu.server, cpu.postgres, cpu.loader].map((ms) => number(ms * 1000)).join(', ');
  return [
    scenario,
    who,
    perSecond === undefined ? '' : `${number(perSecond)}${unit === undefined ? '' : ` ${unit}`}`,
    ratio === undefined ? '' : `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}..${ratio.max.toFixed(2)})`,
    p50 === undefined || p99 === undefined ? '' : `${number(p50)} / ${number(p99)}`,
    [each, note].filter((part) => part !== undefined).join('; '),
  ];
}
