/** Removes the framing of a chunked body, and rejects violations of RFC 9112. */
export class ChunkedBody {
  readonly #fail: (detail: string) => Error;
  #line = '';
  #left = 0;
  #state: 'size' | 'data' | 'data end' | 'trailer' = 'size';

  constructor(fail: (detail: string) => Error) {
    this.#fail = fail;
  }

  /** Adds body bytes to `pieces`; returns the bytes after the body, undefined if it is incomplete. */
  take(bytes: Buffer, pieces: Buffer[]): Buffer | undefined {
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === 'data') {
        const piece = bytes.subarray(at, at + this.#left);
        pieces.push(piece);
        at += piece.length;
        this.#left -= piece.length;
        if (this.#left === 0) this.#state = 'data end';
        continue;
      }
      const end = bytes.indexOf(10, at);
      this.#line += bytes.toString('latin1', at, end === -1 ? bytes.length : end + 1);
      if (end === -1) return undefined;
      at = end + 1;
      if (this.#endOfLine()) return bytes.subarray(at);
    }
    return undefined;
  }

  #endOfLine(): boolean {
    const line = this.#line;
    this.#line = '';
    if (!line.endsWith('\r\n')) throw this.#fail('a chunk ends in a bare line feed');
    if (this.#state === 'size') {
      if (!/^[0-9a-fA-F]{1,8}\r\n$/.test(line)) throw this.#fail(`no chunk size: ${JSON.stringify(line.slice(0, 40))}`);
      this.#left = Number.parseInt(line, 16);
      this.#state = this.#left === 0 ? 'trailer' : 'data';
      return false;
    }
    if (line !== '\r\n') throw this.#fail(`${this.#state}: ${JSON.stringify(line.slice(0, 40))}`);
    if (this.#state === 'trailer') return true;
    this.#state = 'size';
    return false;
  }
}
