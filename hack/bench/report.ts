import { rateOf, type ComparedContender } from './comparison.ts';

interface Row {
  scenario: string;
  contender: string;
  rate: string;
  ratio: string;
  latency: string;
  cpu: string;
}

const header: Row = { scenario: 'scenario', contender: 'who', rate: 'per second', ratio: 'svc / it (min..max)', latency: 'p50 / p99 ms', cpu: 'CPU µs each: server, PostgreSQL, loader' };
const columns = Object.keys(header) as (keyof Row)[];

/** Collects what the scenarios found, and tells whether any request failed. */
export class Report {
  readonly #facts: string[] = [];
  readonly #rows: Row[] = [];
  readonly #failures: string[] = [];

  get failed(): boolean {
    return this.#failures.length > 0;
  }

  fact(name: string, value: string): void {
    this.#facts.push(`${`${name}:`.padEnd(12)} ${value}`);
  }

  compared(scenario: string, contenders: readonly ComparedContender[]): void {
    for (const [i, { name, sample, ratio }] of contenders.entries()) {
      const { server, postgres, loader } = sample.cpu;
      this.#add({
        scenario: i === 0 ? scenario : '',
        contender: name,
        rate: number(rateOf(sample)),
        ratio: ratio === undefined ? '' : `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}..${ratio.max.toFixed(2)})`,
        latency: `${number(sample.p50)} / ${number(sample.p99)}`,
        cpu: [server, postgres, loader].map((ms) => number(ms * 1000)).join(', '),
      });
      if (sample.errors > 0) this.fail(`${scenario}, ${name}: ${sample.errors} errors, the first: ${sample.failure ?? ''}`);
    }
  }

  /** A figure that has nothing to be compared with. */
  figure(scenario: string, contender: string, figures: Partial<Pick<Row, 'rate' | 'latency' | 'cpu' | 'ratio'>>): void {
    this.#add({ scenario, contender, rate: '', ratio: '', latency: '', cpu: '', ...figures });
  }

  fail(failure: string): void {
    this.#failures.push(failure);
  }

  toString(): string {
    const rows = [header, ...this.#rows];
    const widths = columns.map((column) => Math.max(...rows.map((row) => row[column].length)));
    const lines = rows.map((row) => columns.map((column, i) => row[column].padEnd(widths[i]!)).join('  ').trimEnd());
    const rule = widths.map((width) => '-'.repeat(width)).join('  ');
    const failures = this.#failures.map((failure) => `FAILED ${failure}`);
    return [...this.#facts, '', lines[0], rule, ...lines.slice(1), '', ...failures].join('\n');
  }

  #add(row: Row): void {
    this.#rows.push(row);
    process.stderr.write(`${columns.map((column) => row[column]).filter((cell) => cell !== '').join(' | ')}\n`);
  }
}

/** Three digits are what such a figure is worth. */
export function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replaceAll(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? ' ' : '');
}
