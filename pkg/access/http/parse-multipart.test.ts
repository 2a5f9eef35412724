import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AccessError } from './access-error.ts';
import { parseMultipart } from './parse-multipart.ts';

const type = 'multipart/form-data; boundary=x';
const named = (name: string, more = ''): string => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n${more}`;
const end = '--x--\r\n';
const parse = async (body: string | Buffer, contentType = type): Promise<[string, unknown][]> =>
  Array.from((await parseMultipart(Buffer.from(body), contentType)).entries());

test('parses what FormData encodes, for any content', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('--x', '\r\n--x\r\n', '"', '%22', 'a\r\nb', '\r\n', '--'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(text, text), { maxLength: 8 }), async (fields) => {
      const form = new FormData();
      for (const [name, value] of fields) form.append(name, value);
      const sent = new Response(form);
      const again = await new Response(form).formData();
      expect(await parse(Buffer.from(await sent.arrayBuffer()), sent.headers.get('content-type')!)).toEqual(
        Array.from(again.entries()),
      );
    }),
  );
});

test.each<[string, string, [string, string][], string?]>([
  ['an empty text', `${named('a')}\r\n\r\n${end}`, [['a', '']]],
  [
    'another form of headers',
    '--x\r\ncontent-disposition: form-data; name="a"\r\nContent-Type: text/plain\r\n\r\nb\r\n--x--\r\n',
    [['a', 'b']],
  ],
  [
    'a quoted boundary',
    '--a b\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--a b--\r\n',
    [['a', 'b']],
    'multipart/form-data; boundary="a b"',
  ],
  ['a text that begins like a delimiter', `${named('a')}\r\n\r\n--y\r\n${end}`, [['a', '\r\n--y']]],
  ['a long text of many lines', `${named('a')}\r\n${'b\r\n'.repeat(2000)}\r\n${end}`, [['a', 'b\r\n'.repeat(2000)]]],
])('%s is parsed', async (_, body, expected, contentType = type) => {
  expect(await parse(body, contentType)).toEqual(expected);
});

test.each<[string, string | Buffer, string | RegExp, string?]>([
  [
    'too many header lines in a part',
    `${named('a', 'a:b\r\n'.repeat(8))}\r\n\r\n${end}`,
    'a part of a form has at most 8 header lines',
  ],
  [
    '13 000 header lines',
    `${named('a', 'a:\r\n'.repeat(13_000))}\r\n\r\n${end}`,
    'the header lines of a part of a form have at most 1024 bytes',
  ],
  [
    'header lines of the last part, without an end',
    `${named('a')}\r\nb\r\n${named('a', 'a:\r\n'.repeat(9))}`,
    'a part of a form has at most 8 header lines',
  ],
  [
    'one long header line',
    `${named('a', `a: ${'b'.repeat(1000)}\r\n`)}\r\n\r\n${end}`,
    'the header lines of a part of a form have at most 1024 bytes',
  ],
  ['too many parts', `${named('a')}\r\n\r\n`.repeat(1001) + end, 'a form has at most 1000 fields'],
  ['no boundary', end, /boundary/, 'multipart/form-data'],
  ['a long boundary', end, /boundary/, `multipart/form-data; boundary=${'x'.repeat(71)}`],
  ['a boundary with a quote', end, /boundary/, 'multipart/form-data; boundary="x\\"y"'],
  ['another boundary', `--y\r\n${end}`, 'the multipart body cannot be read'],
  ['no end', `${named('a')}\r\nb`, 'the multipart body cannot be read'],
  ['headers without an end', named('a'), 'the multipart body cannot be read'],
  ['no name', `--x\r\nContent-Disposition: form-data\r\n\r\nb\r\n${end}`, 'the multipart body cannot be read'],
  ['a header line without a name', `${named('a', 'X\r\n')}\r\nb\r\n${end}`, 'the multipart body cannot be read'],
  [
    'a text that is not UTF-8',
    Buffer.concat([Buffer.from(`${named('a')}\r\n`), Buffer.from([0xff]), Buffer.from(`\r\n${end}`)]),
    'the texts of a form must be UTF-8',
  ],
])('%s is refused, with the rule', async (_, body, expected, contentType = type) => {
  const error = await parse(body, contentType).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AccessError);
  expect(error).toMatchObject({ status: 400, body: { detail: expect.stringMatching(expected) } });
});

test('any input results in fields or a 400', async () => {
  const piece = fc.constantFrom(
    '--x',
    '--x--',
    '\r\n',
    'Content-Disposition: form-data; name="a"',
    '; filename="b"',
    '"',
    ':',
    ' ',
    '-',
    'x',
    '\r',
    '\n',
    'é',
    '\0',
    'Content-Type: a/b',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
      const read = await parse(`--x\r\n${pieces.join('')}`).catch((error: unknown) => error);
      expect(Array.isArray(read) || (read instanceof AccessError && read.status === 400)).toBe(true);
    }),
  );
});
