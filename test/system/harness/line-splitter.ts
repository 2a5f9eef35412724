/** Cuts a stream into lines, however its bytes come. */
export class LineSplitter {
  #rest = '';
  readonly #decoder = new TextDecoder();

  /** The lines that are whole now. */
  take(bytes: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
