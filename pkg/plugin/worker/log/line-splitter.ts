import { StringDecoder } from 'node:string_decoder';

/** Maximum length of a line; the rest is dropped. */
export const maxLineLength = 4096;

/** Splits a plugin's output into lines, for any chunks and any length. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  #line = '';
  #isCut = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array | string): void {
    const text =
      typeof chunk === 'string'
        ? chunk
        : this.#decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    let begin = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', begin)) {
      this.#add(text, begin, end);
      this.end();
      begin = end + 1;
    }
    this.#add(text, begin, text.length);
  }

  /** Emits the unfinished line. */
  end(): void {
    const line = this.#isCut ? `${this.#line}...` : this.#line;
    this.#line = '';
    this.#isCut = false;
    if (line !== '') this.#onLine(line.replace(/\r$/, ''));
  }

  #add(text: string, begin: number, end: number): void {
    const room = maxLineLength - this.#line.length;
    if (end - begin > room) this.#isCut = true;
    this.#line += text.slice(begin, Math.min(end, begin + room));
  }
}
