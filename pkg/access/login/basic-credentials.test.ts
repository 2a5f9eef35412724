import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readBasicCredentials } from './basic-credentials.ts';

const encode = (bytes: string | Uint8Array): string => `Basic ${Buffer.from(bytes as string).toString('base64')}`;

test.each([
  ['a name and a password', encode('mia:secret'), { username: 'mia', password: 'secret' }],
  ['colons in the password', encode('mia:a:b:'), { username: 'mia', password: 'a:b:' }],
  ['nothing on either side', encode(':'), { username: '', password: '' }],
  ['letters of every script', encode('märia:пароль 🔑'), { username: 'märia', password: 'пароль 🔑' }],
  [
    'the scheme in any case, and more spaces',
    encode('a:b').replace('Basic ', 'bASIC   '),
    { username: 'a', password: 'b' },
  ],
  ['no padding', 'Basic YTpi', { username: 'a', password: 'b' }],
  ['another scheme', 'Bearer YTpi', undefined],
  ['no value', 'Basic ', undefined],
  ['two values', 'Basic YTpi YTpi', undefined],
  ['what is not base64', 'Basic a:b', undefined],
  ['base64 of URLs', 'Basic YTpi_-', undefined],
  ['no colon', encode('mia'), undefined],
  ['bytes that are not UTF-8', encode(Buffer.from([97, 58, 0xff])), undefined],
  ['U+0000', encode('mia\u0000:x'), undefined],
  ['a name that is too long', encode(`${'a'.repeat(6144)}:x`), undefined],
  ['a line break', encode('mia:x\ny'), undefined],
])('%s', (_reason, header, expected) => {
  expect(readBasicCredentials(header)).toEqual(expected);
});

test('any input is parsed or refused, and what a client encodes is parsed back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => void readBasicCredentials(text)),
    { numRuns: 200 },
  );
  const printable = fc.string({ unit: 'grapheme' }).filter((text) => !/\p{Cc}/u.test(text));
  fc.assert(
    fc.property(
      printable.filter((name) => !name.includes(':')),
      printable,
      (username, password) => {
        expect(readBasicCredentials(encode(`${username}:${password}`))).toEqual({ username, password });
      },
    ),
    { numRuns: 200 },
  );
});
