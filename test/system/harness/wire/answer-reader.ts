import type { Answer } from './answer.ts';
import { ChunkedBody } from './chunked-body.ts';

const statusLine = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*$/;
const nothing = Buffer.alloc(0);

/** Bytes that are not an HTTP/1.1 response. */
export class MalformedAnswerError extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'MalformedAnswerError';
  }
}

type Body =
  | { type: 'none' }
  | { type: 'length'; left: number }
  | { type: 'chunked'; decoder: ChunkedBody }
  | { type: 'until close' };

/**
 * Parses responses as strictly as RFC 9112, so that a garbled one is not accepted. `methods` are those of the requests,
 * in order: a response to HEAD has no body. Throws MalformedAnswerError.
 */
export class AnswerReader {
  readonly answers: Answer[] = [];
  readonly #methods: readonly string[];
  #rest: Buffer = nothing;
  #current: { status: number; headers: Map<string, string[]>; body: Body; pieces: Buffer[] } | undefined;

  constructor(methods: readonly string[]) {
    this.#methods = methods;
  }

  take(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length > 0 && this.#step());
  }

  /** The connection has ended. */
  end(): void {
    if (this.#current?.body.type === 'until close') this.#finish(true);
    if (this.#current !== undefined) throw new MalformedAnswerError('the connection ended within an answer');
    if (this.#rest.length > 0)
      throw new MalformedAnswerError(
        `the connection ended with ${JSON.stringify(this.#rest.toString('latin1', 0, 80))}`,
      );
  }

  /** Whether there are bytes after the complete responses. */
  get hasMore(): boolean {
    return this.#rest.length > 0 || this.#current !== undefined;
  }

  /** The unfinished response so far. */
  get partial(): Answer | undefined {
    if (this.#current === undefined) return undefined;
    const { status, headers, pieces } = this.#current;
    return { status, headers, body: Buffer.concat(pieces), complete: false };
  }

  #step(): boolean {
    if (this.#current === undefined) return this.#readHead();
    const { body, pieces } = this.#current;
    if (body.type === 'length') {
      const piece = this.#rest.subarray(0, body.left);
      this.#rest = this.#rest.subarray(piece.length);
      body.left -= piece.length;
      pieces.push(piece);
      if (body.left > 0) return false;
    } else if (body.type === 'chunked') {
      const left = body.decoder.take(this.#rest, pieces);
      if (left === undefined) {
        this.#rest = nothing;
        return false;
      }
      this.#rest = left;
    } else if (body.type === 'until close') {
      pieces.push(this.#rest);
      this.#rest = nothing;
      return false;
    }
    this.#finish(true);
    return true;
  }

  #finish(complete: boolean): void {
    const { status, headers, pieces } = this.#current!;
    this.#current = undefined;
    this.answers.push({ status, headers, body: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), complete });
  }

  #readHead(): boolean {
    const end = this.#rest.indexOf('\r\n\r\n');
    if (end === -1) {
      if (!'HTTP/1.1 '.startsWith(this.#rest.toString('latin1', 0, 9)))
        throw new MalformedAnswerError(`no answer: ${JSON.stringify(this.#rest.toString('latin1', 0, 80))}`);
      return false;
    }
    const [first, ...lines] = this.#rest.toString('latin1', 0, end).split('\r\n');
    this.#rest = this.#rest.subarray(end + 4);
    const status = Number(statusLine.exec(first!)?.[1]);
    if (!(status >= 100 && status <= 599))
      throw new MalformedAnswerError(`no status line: ${JSON.stringify(first!.slice(0, 80))}`);
    const headers = readHeaders(lines);
    // "100 Continue" precedes a response and is not one. What follows a 101 counts as its body.
    if (status >= 200 || status === 101) this.#begin(status, headers);
    return true;
  }

  #begin(status: number, headers: Map<string, string[]>): void {
    const body = bodyOf(status, headers, this.#methods[this.answers.length]);
    this.#current = { status, headers, body, pieces: [] };
    if (body.type === 'none' || (body.type === 'length' && body.left === 0)) this.#finish(true);
  }
}

function readHeaders(lines: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const match = headerLine.exec(line);
    if (match === null) throw new MalformedAnswerError(`no header: ${JSON.stringify(line.slice(0, 80))}`);
    const name = match[1]!.toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), match[2]!]);
  }
  return headers;
}

function bodyOf(status: number, headers: ReadonlyMap<string, readonly string[]>, method: string | undefined): Body {
  const lengths = headers.get('content-length') ?? [];
  const codings = headers.get('transfer-encoding') ?? [];
  if (lengths.length > 1 || codings.length > 1 || (lengths.length === 1 && codings.length === 1))
    throw new MalformedAnswerError('the length of the body is told twice');
  if (lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0]!))
    throw new MalformedAnswerError(`Content-Length: ${lengths[0]}`);
  // The parser that refuses a request may not know its method.
  if (method === 'HEAD' && status >= 400 && headers.get('connection')?.[0] === 'close') return { type: 'until close' };
  if (method === 'HEAD' || status === 204 || status === 304) return { type: 'none' };
  if (codings[0] === 'chunked')
    return { type: 'chunked', decoder: new ChunkedBody((detail) => new MalformedAnswerError(detail)) };
  if (codings.length > 0) throw new MalformedAnswerError(`Transfer-Encoding: ${codings[0]}`);
  return lengths[0] === undefined ? { type: 'until close' } : { type: 'length', left: Number(lengths[0]) };
}
