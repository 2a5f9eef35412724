/** Collects which of a run's checks passed and which failed, and prints those that failed as they come. */
export class CheckReport {
  /** What failed, each with the reason. */
  readonly violations: string[] = [];
  passed = 0;
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  say(line: string): void {
    this.#print(line);
  }

  /** `what` is a promise; where it does not hold it is a violation, with `because`. */
  check(what: string, holds: boolean, because = ''): void {
    if (holds) this.passed += 1;
    else {
      this.violations.push(because === '' ? what : `${what}: ${because}`);
      this.#print(`  VIOLATED ${what}${because === '' ? '' : `: ${because}`}`);
    }
  }
}
