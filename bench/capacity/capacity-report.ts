/** Prints Markdown tables, as in docs/sizing.md, while the parts run. */
export class CapacityReport {
  readonly #tell: (text: string) => void;
  #failures = 0;

  constructor(tell: (text: string) => void) {
    this.#tell = tell;
  }

  get failed(): boolean {
    return this.#failures > 0;
  }

  line(text: string): void {
    this.#tell(`${text}\n`);
  }

  table(title: string, [header, ...rows]: readonly (readonly string[])[]): void {
    const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
    this.#tell(
      `\n### ${title}\n\n${line(header ?? [])}${line((header ?? []).map(() => '---'))}${rows.map(line).join('')}`,
    );
  }

  fail(failure: string): void {
    this.#failures += 1;
    this.#tell(`FAILED ${failure}\n`);
  }
}
