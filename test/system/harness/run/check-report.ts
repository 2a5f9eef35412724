/** Collects passed and failed checks of a run, and prints failures immediately. */
export class CheckReport {
  /** Failed checks with their reasons. */
  readonly violations: string[] = [];
  passed = 0;
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  say(line: string): void {
    this.#print(line);
  }

  /** `what` is a promise; if it does not hold, records a violation with `because`. */
  check(what: string, holds: boolean, because = ''): void {
    if (holds) this.passed += 1;
    else {
      this.violations.push(because === '' ? what : `${what}: ${because}`);
      this.#print(`  VIOLATED ${what}${because === '' ? '' : `: ${because}`}`);
    }
  }
}
