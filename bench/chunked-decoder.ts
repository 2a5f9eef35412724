/** Takes the framing off a chunked HTTP/1.1 body, however its bytes are cut. */
export class ChunkedDecoder {
  #left = 0;
  #line = '';
  #inTrailer = false;
  #done = false;

  /** Hands on what is body; answers whether the body is whole. */
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
      // An empty line here is the one that ends the chunk before.
      this.#left = Number.parseInt(line, 16);
      this.#inTrailer = this.#left === 0;
    }
  }
}
