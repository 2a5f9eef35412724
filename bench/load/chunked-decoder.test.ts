import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ChunkedDecoder } from './chunked-decoder.ts';

function decodeAll(pieces: Buffer[]): { body: string; done: boolean } {
  const decoder = new ChunkedDecoder();
  let body = '';
  let done = false;
  for (const piece of pieces) done = decoder.decode(piece, (data) => void (body += data.toString('latin1')));
  return { body, done };
}

describe('ChunkedDecoder', () => {
  test.each([
    { reason: 'an empty body', text: '0\r\n\r\n', body: '', done: true },
    {
      reason: 'chunks with an extension and a trailer',
      text: '3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n',
      body: 'abc0123456789',
      done: true,
    },
    { reason: 'line ends within a chunk', text: '4\r\n\r\n\r\n\r\n0\r\n\r\n', body: '\r\n\r\n', done: true },
    { reason: 'an unfinished stream', text: '3\r\nabc\r\n', body: 'abc', done: false },
  ])('$reason', ({ text, body, done }) => {
    expect(decodeAll([Buffer.from(text)])).toEqual({ body, done });
  });

  test('any split of the bytes gives the same result', () => {
    const chunks = fc.array(fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0'), minLength: 1, maxLength: 20 }), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(chunks, fc.array(fc.nat(200)), (parts, cuts) => {
        const bytes = Buffer.from(
          `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`,
        );
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
        const pieces = places.slice(1).map((place, i) => bytes.subarray(places[i], place));
        expect(decodeAll(pieces)).toEqual({ body: parts.join(''), done: true });
      }),
    );
  });
});
