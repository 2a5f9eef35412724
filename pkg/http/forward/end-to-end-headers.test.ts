import { expect, test } from '@jest/globals';
import { endToEndHeaders } from './end-to-end-headers.ts';

test('headers go on as they were sent, in their order, also twice', () => {
  const sent = ['HOST', 'a', 'Cookie', 'a=1', 'x-Odd', ' b', 'X-Odd', '', 'Set-Cookie', 'a', 'Set-Cookie', 'b'];
  expect(endToEndHeaders(sent)).toEqual(sent);
});

test('headers of the connection stay behind, and those that it names', () => {
  const sent = [
    'Connection',
    'Keep-Alive, X-Mine',
    'Keep-Alive',
    'timeout=5',
    'X-MINE',
    'a',
    'X-Yours',
    'b',
    'TE',
    'trailers',
    'Trailer',
    'X',
    'Transfer-Encoding',
    'chunked',
    'Upgrade',
    'h2c',
    'Proxy-Connection',
    'a',
    'Proxy-Authorization',
    'Basic a',
    'Proxy-Authenticate',
    'Basic',
    'connection',
    'x-late',
    'X-Late',
    'c',
  ];
  expect(endToEndHeaders(sent)).toEqual(['X-Yours', 'b']);
});

test('others are left out by name', () => {
  expect(endToEndHeaders(['Expect', '100-continue', 'Date', 'd'], ['expect'])).toEqual(['Date', 'd']);
});

test('a sender cannot have the headers dropped that make the message what it is', () => {
  const sent = ['Host', 'a', 'Content-Length', '3', 'Authorization', 'Bearer a', 'Cookie', 'b'];
  expect(endToEndHeaders(['Connection', 'host, content-length, Authorization,cookie', ...sent])).toEqual(sent);
});
