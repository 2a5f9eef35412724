/** Splits a stream into lines, for any chunks. */
export class LineSplitter {
  #rest = '';
  readonly #decoder = new TextDecoder();

  /** The lines that are complete now. */
  take(bytes: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
