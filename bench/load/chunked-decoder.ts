/** Removes the framing of a chunked HTTP/1.1 body, for any split of its bytes. */
export class ChunkedDecoder {
  #left = 0;
  #line = '';
  #inTrailer = false;
  #done = false;

  /** Passes body bytes on; returns whether the body is complete. */
  decode(bytes: Buffer, onData: (piece: Buffer) => void): boolean {
    let at = 0;
    while (at < bytes.length && !this.#done) {
      if (this.#left > 0) {
        const piece = bytes.subarray(at, at + this.#left);
        at += piece.length;
        this.#left -= piece.length;
        onData(piece);
        continue;
      }
      const end = bytes.indexOf(10, at);
      if (end === -1) {
        this.#line += bytes.toString('latin1', at);
        break;
      }
      this.#endOfLine((this.#line + bytes.toString('latin1', at, end)).trimEnd());
      this.#line = '';
      at = end + 1;
    }
    return this.#done;
  }

  #endOfLine(line: string): void {
    if (this.#inTrailer) {
      this.#done = line === '';
    } else if (line !== '') {
      // An empty line here ends the previous chunk.
      this.#left = Number.parseInt(line, 16);
      this.#inTrailer = this.#left === 0;
    }
  }
}
