import type { FuzzCase } from './fuzz-case.ts';
import type { CaseRun } from './run-case.ts';
import type { Violation } from './violation.ts';

export interface Finding extends Violation {
  area: string;
  /** Undefined if it does not belong to a single case. */
  number?: number;
  /** How to repeat it. */
  replay: string;
  times: number;
}

interface AreaTally {
  requests: number;
  statuses: Map<string, number>;
  longestHold: number;
  findings: number;
}

/** Counts the responses, and keeps one violation of each kind. */
export class FuzzReport {
  requests = 0;
  readonly findings = new Map<string, Finding>();
  readonly #areas = new Map<string, AreaTally>();

  count({ area }: FuzzCase, { outcomes }: CaseRun): void {
    const tally = this.#area(area);
    for (const { answers, failure } of outcomes) {
      this.requests += 1;
      tally.requests += 1;
      const statuses =
        answers.length === 0
          ? [typeof failure === 'string' ? failure : 'none']
          : answers.map(({ status }) => String(status));
      for (const status of statuses) tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    }
  }

  held(area: string, cpu: number): void {
    const tally = this.#area(area);
    tally.longestHold = Math.max(tally.longestHold, cpu);
  }

  /** Whether this kind is new: rule, area and message are compared without numbers and quoted texts. */
  isNew(area: string, found: Violation): boolean {
    const known = this.findings.get(keyOf(area, found));
    if (known === undefined) return true;
    known.times += 1;
    return false;
  }

  /** A later finding of the same kind replaces the shown one. */
  add(finding: Omit<Finding, 'times'>): void {
    const key = keyOf(finding.area, finding);
    const known = this.findings.get(key);
    if (known === undefined) this.#area(finding.area).findings += 1;
    this.findings.set(key, { ...finding, times: known?.times ?? 1 });
  }

  /** Areas without and with violations, and the findings. */
  get summary(): { passed: number; failed: number; failures: string[] } {
    const tallies = [...this.#areas.values()];
    const failed = tallies.filter(({ findings }) => findings > 0).length;
    const failures = [...this.findings.values()].map(
      ({ area, rule, detail, number, replay }) =>
        `fuzz: ${rule} in ${area}${number === undefined ? '' : `, case ${number}`}: ${detail}\n${replay}`,
    );
    return { passed: tallies.length - failed, failed, failures };
  }

  toString(): string {
    const rows = [...this.#areas]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, tally]) => {
        const statuses = [...tally.statuses]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([status, count]) => `${status}:${count}`)
          .join(' ');
        const hold = tally.longestHold > 0 ? `, longest hold ${Math.round(tally.longestHold)} ms` : '';
        return `${name}: ${tally.requests} requests, ${tally.findings} violations${hold}\n    ${statuses}`;
      });
    const findings = [...this.findings.values()].map(
      ({ area, rule, detail, number, replay, times }) =>
        `\n${rule} in ${area}${number === undefined ? '' : `, case ${number}`}, ${times} times: ${detail}\n${replay}`,
    );
    return [...rows, ...findings].join('\n');
  }

  #area(name: string): AreaTally {
    let tally = this.#areas.get(name);
    if (tally === undefined) {
      tally = { requests: 0, statuses: new Map(), longestHold: 0, findings: 0 };
      this.#areas.set(name, tally);
    }
    return tally;
  }
}

function keyOf(area: string, { rule, detail }: Violation): string {
  const words = detail.replaceAll(/"(?:[^"\\]|\\.)*"?|\d+/g, '#').slice(0, 80);
  return `${area}/${rule}/${words}`;
}
