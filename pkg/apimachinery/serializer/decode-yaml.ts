import { Composer, Lexer, Parser, type CST, type Document } from 'yaml';

import { newBadRequest, newRequestEntityTooLarge } from '../status/status-error.ts';
import { runSync, runInTurns, type SlicedWork } from '../turns/event-loop-turns.ts';
import { decodeIfJson, decodeUtf8 } from './decode-json.ts';
import type { DecodeResult } from './decode-result.ts';
import { maxJsonDepth, newTooDeep } from './value-rules.ts';
import { isEmptyDocument, readYamlDocument } from './yaml-reader.ts';

export { maxJsonValues } from './value-rules.ts';

/** Bytes. The parser takes a few microseconds per token; JSON in a YAML body is exempt. */
export const maxYamlBytes = 1 << 20;
/**
 * Tokens as the lexer counts them: words, indicators, runs of space, newlines. The largest definition in use, of 430
 * kB, has 20 000.
 */
const maxYamlTokens = 60_000;
/** Tokens per slice. */
const tokensPerSlice = 200;
const maxYamlDocuments = 1000;

/**
 * Decodes a body of one YAML 1.2 document (core schema: `yes` and timestamps stay strings, no merge keys). Values
 * follow the rules of `decodeJson`; number and boolean keys become strings. Anchors and aliases work while the expanded
 * value stays within 3 MiB and 100 000 values and keys. A JSON body, as `kubectl apply --server-side` sends it, is
 * parsed as JSON, which is much faster.
 * @throws StatusError 400 for anything else (also custom tags, directives, complex keys, several documents), 413 for
 * more than 1 MiB, 60 000 tokens or 100 000 values and keys, 422 for an integer that a double cannot represent.
 */
export function decodeYaml(bytes: Buffer): DecodeResult {
  return runSync(decoding(bytes));
}

/**
 * The same in slices, between which other work runs. `bytes` must not change meanwhile. @throws also the signal's
 * StatusError or 504 once it aborts
 */
export function decodeYamlInTurns(bytes: Buffer, signal?: AbortSignal): Promise<DecodeResult> {
  return runInTurns(decoding(bytes), { signal });
}

function* decoding(bytes: Buffer): SlicedWork<DecodeResult> {
  const text = decodeUtf8(bytes);
  const json = /^\s*[{[]/.test(text) ? decodeIfJson(bytes, text) : undefined;
  if (json !== undefined) return json;
  const documents = yield* parseDocuments(text, bytes.length, 1);
  yield;
  const [document] = documents;
  if (document === undefined) throw newBadRequest('the body of the request holds no YAML document');
  return readYamlDocument(document);
}

/**
 * Decodes a file of several documents separated by `---`; skips empty ones. Rules, limits and errors are those of
 * `decodeYaml`.
 */
export function decodeYamlDocuments(text: string): DecodeResult[] {
  const documents = runSync(parseDocuments(text, Buffer.byteLength(text), maxYamlDocuments));
  return documents.filter((document) => !isEmptyDocument(document)).map((document) => readYamlDocument(document));
}

function* parseDocuments(text: string, bytes: number, maxDocuments: number): SlicedWork<Document.Parsed[]> {
  if (bytes > maxYamlBytes)
    throw newRequestEntityTooLarge(`a YAML body is limited to ${maxYamlBytes} bytes; JSON may be larger`);
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  // The first error ends the parse: collecting them would create a million for a hostile body. If the library renamed
  // this member, readYamlDocument would still find the errors, only later.
  Object.assign(composer, {
    onError: (source: ErrorSource, _code: string, message: string, warning?: boolean): void => {
      if (warning !== true) throw newYamlError(text, positionOf(source), message);
    },
  });
  const documents: Document.Parsed[] = [];
  for (const token of parseTokens(text)) {
    if (token === undefined) {
      yield;
      continue;
    }
    documents.push(...(composer.next(token) as Iterable<Document.Parsed>));
    if (documents.length >= maxDocuments && token.type === 'document')
      throw newBadRequest(`more YAML documents than expected: at most ${maxDocuments}`);
  }
  documents.push(...(composer.end() as Iterable<Document.Parsed>));
  return documents;
}

/**
 * The concrete syntax, token by token, so that depth and number of tokens are checked before the recursive composer
 * runs; undefined marks a pause.
 */
function* parseTokens(text: string): Generator<CST.Token | undefined> {
  const parser = new Parser();
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    lexemes += 1;
    if (lexemes % tokensPerSlice === 0) yield undefined;
    if (lexemes > maxYamlTokens)
      throw newRequestEntityTooLarge(`a YAML body is limited to ${maxYamlTokens} tokens; JSON may be larger`);
    for (const token of parser.next(lexeme)) if (isContent(token, text)) yield token;
    // One entry per level, one for the document, one for the scalar being read.
    if (parser.stack.length > maxJsonDepth + 2) throw newTooDeep();
  }
  yield undefined;
  for (const token of parser.end()) if (isContent(token, text)) yield token;
}

/** `%YAML 1.2` is the default; any other directive changes the meaning of the text. */
function isContent(token: CST.Token, text: string): boolean {
  if (token.type === 'error') throw newYamlError(text, token.offset, token.message);
  if (token.type !== 'directive') return true;
  if (!/^%YAML 1\.2\s*$/.test(token.source)) throw newYamlError(text, token.offset, 'directives are not supported');
  return false;
}

type ErrorSource = number | [number, number] | number[] | { offset: number };

function positionOf(source: ErrorSource): number {
  if (typeof source === 'number') return source;
  return Array.isArray(source) ? (source[0] ?? 0) : source.offset;
}

function newYamlError(text: string, position: number, message: string): Error {
  const line = text.slice(0, position).split('\n').length;
  const shown = message.slice(0, 90).replaceAll(/[\p{Cc}\p{Surrogate}]/gu, '\uFFFD');
  return newBadRequest(`the body of the request is not valid YAML: line ${line}: ${shown}`);
}
